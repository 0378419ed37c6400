//! A guest in Rust: a function of numbers, and one of values. guest.wasm beside it is made of it by
//!
//! ```sh
//! rustc --edition 2021 --target wasm32-unknown-unknown --crate-type cdylib -C opt-level=s -C panic=abort \
//!     -C strip=symbols -C link-arg=-zstack-size=16384 guest.rs -o guest.wasm
//! ```
//!
//! What Rust adds of its own library is under the Apache License 2.0 or the MIT License.

use std::alloc::Layout;

/// How unusual an amount is, between 0 and 1, by what is usual and how far that spreads, and by how many payments that
/// is known.
#[no_mangle]
pub extern "C" fn risk(amount: f64, usual: f64, spread: f64, payments: f64) -> f64 {
    let off = (amount - usual) / spread.max(1.0);
    (1.0 / (1.0 + (3.0 - off).exp())) * (payments / 10.0).min(1.0)
}

/// Gives the host room for what it is given. Nothing has to be freed: the memory is put back after each call.
#[no_mangle]
pub extern "C" fn alloc(bytes: usize) -> *mut u8 {
    match Layout::array::<u8>(bytes.max(1)) {
        Ok(layout) => unsafe { std::alloc::alloc(layout) },
        Err(_) => fail("there is no such room"),
    }
}

/// Has of each number of 13 to 19 digits in a text, as cards have, only the last four. It works on the JSON as it is.
#[no_mangle]
pub extern "C" fn mask(at: *mut u8, bytes: usize) -> u64 {
    // What the host has written stands in the room that alloc has given.
    let json = unsafe { std::slice::from_raw_parts_mut(at, bytes) };
    match text_of(json) {
        Some(text) => mask_cards(text),
        None => fail("the note has no text, or more than that"),
    }
    (at as u64) << 32 | bytes as u64
}

/// What stands between the quotes.
fn text_of(json: &mut [u8]) -> Option<&mut [u8]> {
    let (before, behind) = (br#"{"note":{"text":""#, br#""}}"#);
    if !json.starts_with(before) || !json.ends_with(behind) {
        return None;
    }
    let end = json.len() - behind.len();
    json.get_mut(before.len()..end)
}

fn mask_cards(text: &mut [u8]) {
    let (mut first, mut here) = (0, 0); // of the digits before here
    loop {
        let c = text.get(here).copied();
        if matches!(c, Some(b'0'..=b'9')) {
            here += 1;
            continue;
        }
        if (13..=19).contains(&(here - first)) {
            if let Some(digits) = text.get_mut(first..here - 4) {
                digits.fill(b'*');
            }
        }
        here += match c {
            None => return,
            Some(b'\\') if text.get(here + 1) == Some(&b'u') => 6, // with the digits of the character
            Some(b'\\') => 2,
            Some(_) => 1,
        };
        first = here;
    }
}

#[link(wasm_import_module = "graphd")]
extern "C" {
    #[link_name = "fail"]
    fn host_fail(at: *const u8, bytes: usize) -> !;
}

/// Ends the call: the node fails with this text.
fn fail(why: &str) -> ! {
    unsafe { host_fail(why.as_ptr(), why.len()) }
}
