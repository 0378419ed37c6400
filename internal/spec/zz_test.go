package spec
import ("testing";"time";"strings";"fmt";"runtime"
"go.yaml.in/yaml/v3")
func TestZZ(t *testing.T){
 var n yaml.Node
 fmt.Println(yaml.Unmarshal([]byte("x: " + strings.Repeat("- ", 9000) + "1"), &n))
 fmt.Println(yaml.Unmarshal([]byte("x:\n " + strings.Repeat("- ", 9000) + "1"), &n))
 const head = "graph: g\naccumulators: { a: {} }\n"
 M:=1<<20
 rep:=func(s string) string { k:=(M-200)/len(s); return strings.Repeat(s,k)}
 for name,text:=range map[string]string{
  "flowseq": head+"vars: { x: ["+rep("a,")+"] }",
  "emptyflow": head+"vars: { x: ["+rep("[],")+"] }",
  "comments": head+rep("#\n"), "comments2": head+rep("#a\n\n"), "commentsval": head+"vars:\n"+rep("  a: 1 #x\n"),
  "dupkeys": head+"vars:\n"+rep("  a: 1\n"), "unknown": head+rep("accumulatrs: 1\n"),
  "deep": head+"x: "+rep("["), "deepmap": head+"x: "+rep("{a: "), "dashes": head+"x:\n  "+rep("- "),
  "quotes": head+"x: '"+rep("''"), "badlines": head+"vars:\n"+rep("  a: b: c\n"), "badflow": head+"vars: {"+rep("a: @x, "), "badval": head+"vars:\n"+rep("  abc: @x\n"),
  "longline": head+"vars: { a: "+rep("x ")+": y }", "manyvars": head+"vars:\n"+rep("  ab: ${A:-x}\n"), "spaces": head+rep(" "), "newlines": head+rep("\n"), "bigkey": head+"? "+rep("k")+"\n: 1", "tabs": head+rep("\t"), "anchors": head+"x: ["+rep("&a 1,")+"]","aliases": head+"x: [&a 1,"+rep("*a,")+"]","badalias": head+"x:\n"+rep("  - *a\n"),"colon": rep(":"), "colonsp": rep(": "), "q": rep("? "), "brk": rep("]"), "pct": rep("%x\n"), "dash3": rep("---\n"), "docs": rep("--- a\n"),"nul": rep("\x00"), "esc": "\""+rep("\\u00e9")+"\"", "pipe": head+"description: |\n"+rep(" x\n"), "fold": head+"description: >\n"+rep(" x\n\n"), "multi": head+"description: "+rep("x\n  "),
 }{
  runtime.GC(); var m0,m1 runtime.MemStats; runtime.ReadMemStats(&m0)
  st:=time.Now(); _,d:=Parse([]byte(text),Options{}); el:=time.Since(st); runtime.ReadMemStats(&m1)
  first:=""; if len(d)>0 {first=fmt.Sprintf("%.120v",d[0])}
  fmt.Printf("%-12s %8.1fms alloc %5dMB diags %d %s\n",name,float64(el.Microseconds())/1000,(m1.TotalAlloc-m0.TotalAlloc)>>20,len(d),first)
 }
}
