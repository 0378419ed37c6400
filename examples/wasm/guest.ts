// A guest in AssemblyScript: a function of numbers, and one of values. guest.wasm is made of it by
//
//	npx --yes --package assemblyscript@0.28.9 asc guest.ts -o guest.wasm -O3 --noAssert --runtime stub --use abort=
//
// What AssemblyScript adds of its own library is under the Apache License 2.0.

// risk is how unusual an amount is, between 0 and 1, by what is usual and how far that spreads, and by how many
// payments that is known.
export function risk(amount: f64, usual: f64, spread: f64, payments: f64): f64 {
  const off = (amount - usual) / Math.max(spread, 1);
  return (1 / (1 + Math.exp(3 - off))) * Math.min(payments / 10, 1);
}

// alloc gives the host room for what it is given. Nothing has to be freed: the memory is put back after each call.
export function alloc(bytes: i32): usize {
  return heap.alloc(bytes);
}

// mask has of each number of 13 to 19 digits in a text, as cards have, only the last four. It works on the JSON as it is.
export function mask(at: usize, bytes: i32): u64 {
  const end = at + bytes;
  let inText = false;
  let first = at; // of the digits before here
  for (let here = at; here < end; here++) {
    const c = load<u8>(here);
    if (inText && c >= 48 && c <= 57) continue; // a digit
    const digits = here - first;
    if (inText && digits >= 13 && digits <= 19) memory.fill(first, 42, digits - 4); // with *
    if (c == 34) inText = !inText; // "
    if (c == 92) here++; // what stands behind a \ has no meaning here
    first = here + 1;
  }
  return ((at as u64) << 32) | (bytes as u64);
}
