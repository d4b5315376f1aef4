"""For each language a text, and what is defined in it: one line ``kind container name line first-last`` each.

A container or place that is not there is ``-``; ``*`` marks a function that is only declared.
"""

from __future__ import annotations

SAMPLES: dict[str, tuple[str, str]] = {
    "Python": (
        """import os
@decorate
class Größe:
    attr: int = 1
    def méthode(self):
        local = 2
        @decorate
        def inner():
            pass
X, Y = 1, 2
X = 3
if X:
    Z = 1
async def fetch(): pass
type Alias = int
""",
        """class - Größe 3 2-9
field Größe attr 4 4-4
method Größe méthode 5 5-9
function méthode inner 8 7-9
variable - X 10 10-10
variable - Y 10 10-10
variable - Z 13 13-13
function - fetch 14 14-14
class - Alias 15 15-15""",
    ),
    "Go": (
        """package main

type Point struct {
	X, Y int
}
type Reader interface {
	Read() error
}
type (
	F func()
	G = Point
)
const C = 1
var V, W = 1, 2
func (p *Point) Move() { x := 1; _ = func() { var z int } }
func (l List[K]) Len() int { return 0 }
func main() {}
""",
        """package - main 1 1-1
struct - Point 3 3-5
field Point X 4 4-4
field Point Y 4 4-4
interface - Reader 6 6-8
method Reader Read 7 7-7
class - F 10 10-10
class - G 11 11-11
constant - C 13 13-13
variable - V 14 14-14
variable - W 14 14-14
method Point Move 15 15-15
method List Len 16 16-16
function - main 17 17-17""",
    ),
    "JavaScript": (
        """class A {
  x = 1; #hidden = 2;
  constructor() {}
  run() { const l = 1 }
  static { const q = 1 }
}
const f = () => { const inner = 1; function g() {} };
function h() {}
let v = 1; const c = 2;
module.exports.foo = function () {};
const o = { k: () => 1, z() {} };
describe("x", () => { const local = 1; });
""",
        """class - A 1 1-6
field A x 2 2-2
field A #hidden 2 2-2
constructor A constructor 3 3-3
method A run 4 4-4
function - f 7 7-7
function f g 7 7-7
function - h 8 8-8
variable - v 9 9-9
constant - c 9 9-9
function - foo 10 10-10
constant - o 11 11-11
method - k 11 11-11
method - z 11 11-11""",
    ),
    "TypeScript": (
        """interface I { a: string; m(): void }
export abstract class C<T> {
  private f = 1;
  constructor() {}
  abstract q(): void;
}
type T = { b: number };
enum E { A, B = 2 }
namespace N.M { export const k = 1; }
declare module Foo { function z(): void; }
function f(o: { p: string }): void {}
const g = async () => {};
""",
        """interface - I 1 1-1
property I a 1 1-1
method I m 1 1-1
class - C 2 2-6
field C f 3 3-3
constructor C constructor 4 4-4
method C q 5 5-5
class - T 7 7-7
property T b 7 7-7
enum - E 8 8-8
enummember E A 8 8-8
enummember E B 8 8-8
namespace - N.M 9 9-9
constant N.M k 9 9-9
namespace - Foo 10 10-10
function Foo z 10 10-10
function - f 11 11-11
function - g 12 12-12""",
    ),
    "TSX": (
        """export function App(props: { title: string }) {
  const local = 1;
  return <div>{props.title}</div>;
}
export const Button = () => <b />;
""",
        """function - App 1 1-4
function - Button 5 5-5""",
    ),
    "Java": (
        """package a.b;
@Deprecated
public class A {
  int x, y;
  A() {}
  void run() { int l; Runnable r = () -> {}; }
  enum E { P, Q }
  interface I { int K = 1; void z(); }
  record R(int q) {}
  @interface N { int v(); }
}
""",
        """package - a.b 1 1-1
class - A 3 2-11
field A x 4 4-4
field A y 4 4-4
constructor A A 5 5-5
method A run 6 6-6
enum A E 7 7-7
enummember E P 7 7-7
enummember E Q 7 7-7
interface A I 8 8-8
constant I K 8 8-8
method I z 8 8-8
class A R 9 9-9
interface A N 10 10-10
method N v 10 10-10""",
    ),
    "C": (
        """#define LIMIT 1
#define TWICE(a) ((a) * 2)
typedef struct foo { int a; char *b; void (*cb)(int); } foo_t;
struct bar { int c[3]; };
enum e { E1, E2 };
typedef int (*callback)(void);
#ifdef LIMIT
static int global = 1, *other;
#endif
int announced(int);
char *fun(void) { int local; return 0; }
union u { int z; };
""",
        """constant - LIMIT 1 1-1
function - TWICE 2 2-2
class - foo_t 3 3-3
struct - foo 3 3-3
field foo a 3 3-3
field foo b 3 3-3
field foo cb 3 3-3
struct - bar 4 4-4
field bar c 4 4-4
enum - e 5 5-5
enummember e E1 5 5-5
enummember e E2 5 5-5
class - callback 6 6-6
variable - global 8 8-8
variable - other 8 8-8
function* - announced 10 10-10
function - fun 11 11-11
class - u 12 12-12
field u z 12 12-12""",
    ),
    "C++": (
        """namespace a::b {
template <typename T> class C : D {
public:
  C();
  ~C() {}
  int m() const { return x_; }
  int decl();
  int x_;
  bool operator==(const C& o) { return true; }
};
int C::decl() { auto l = [] { int q; }; return 0; }
void x::y::C::z() {}
using U = int;
}
struct S { int q; };
std::string& f() { return g; }
""",
        """namespace - a::b 1 1-14
class a::b C 2 2-10
method* C C 4 4-4
method C ~C 5 5-5
method C m 6 6-6
method* C decl 7 7-7
field C x_ 8 8-8
method C operator== 9 9-9
method C decl 11 11-11
method C z 12 12-12
class a::b U 13 13-13
struct - S 15 15-15
field S q 15 15-15
function - f 16 16-16""",
    ),
    "Rust": (
        """mod m { pub fn f() {} }
struct S { a: i32 }
enum E { A, B(i32) }
trait T { fn t(&self); type X; }
impl T for S {
    fn t(&self) { let c = || 1; }
    const K: i32 = 1;
}
impl<T> G<T> { fn g() {} }
static Z: i32 = 1;
macro_rules! mac { () => {} }
type Alias = S;
""",
        """module - m 1 1-1
function m f 1 1-1
struct - S 2 2-2
field S a 2 2-2
enum - E 3 3-3
enummember E A 3 3-3
enummember E B 3 3-3
interface - T 4 4-4
method T t 4 4-4
class T X 4 4-4
method S t 6 6-6
constant S K 7 7-7
method G g 9 9-9
variable - Z 10 10-10
function - mac 11 11-11
class - Alias 12 12-12""",
    ),
    "Ruby": (
        """module M
  class A::B < C
    X = 1
    def m; end
    def self.s; end
    def ==(o); end
    def ready?; end
  end
end
def top; end
""",
        """module - M 1 1-9
class M B 2 2-8
constant B X 3 3-3
method B m 4 4-4
method B s 5 5-5
method B == 6 6-6
method B ready? 7 7-7
method - top 10 10-10""",
    ),
    "C#": (
        """namespace A.B {
  class C {
    int f, g;
    public int P { get; set; }
    C() {}
    void M() { void L() {} }
    event Action E;
    delegate void D();
  }
  struct S {}
  interface I { void Z(); }
  enum En { X, Y }
  record R(int a);
}
""",
        """namespace - A.B 1 1-14
class A.B C 2 2-9
field C f 3 3-3
field C g 3 3-3
property C P 4 4-4
constructor C C 5 5-5
method C M 6 6-6
function M L 6 6-6
event C E 7 7-7
class C D 8 8-8
struct A.B S 10 10-10
interface A.B I 11 11-11
method I Z 11 11-11
enum A.B En 12 12-12
enummember En X 12 12-12
enummember En Y 12 12-12
class A.B R 13 13-13""",
    ),
    "PHP": (
        """<?php
namespace A\\B;
function f() {}
class C {
  const K = 1;
  public $p;
  function __construct(private int $q) {}
  function run() {}
}
interface I {}
trait T {}
enum E { case X; }
""",
        """namespace - A\\B 2 2-2
function - f 3 3-3
class - C 4 4-9
constant C K 5 5-5
property C p 6 6-6
constructor C __construct 7 7-7
method C run 8 8-8
interface - I 10 10-10
interface - T 11 11-11
enum - E 12 12-12
enummember E X 12 12-12""",
    ),
    "Kotlin": (
        """package a
class C(val a: Int, b: Int) {
    val x = 1
    fun m() { val l = 1 }
    companion object {
        const val Z = 1
        fun k() {}
    }
}
interface I {
    fun z()
}
enum class E { A, B }
object O {
    fun o() {}
}
typealias T = Int
fun String.extend() = 1
val v = 1
""",
        """class - C 2 2-9
property C a 2 2-2
field C x 3 3-3
method C m 4 4-4
constant C Z 6 6-6
method C k 7 7-7
interface - I 10 10-12
method I z 11 11-11
enum - E 13 13-13
enummember E A 13 13-13
enummember E B 13 13-13
object - O 14 14-16
method O o 15 15-15
class - T 17 17-17
function - extend 18 18-18
variable - v 19 19-19""",
    ),
    "Scala": (
        """package a.b
class C(val a: Int) {
  val x = 1
  def m(): Int = { val l = 1; l }
}
object O { def o = 1 }
trait T { def z: Int; type X = Int }
""",
        """package - a.b 1 1-1
class - C 2 2-5
field C x 3 3-3
method C m 4 4-4
object - O 6 6-6
method O o 6 6-6
interface - T 7 7-7
method T z 7 7-7
class T X 7 7-7""",
    ),
    "Shell": (
        """foo() { x=1; }
function bar { :; }
""",
        """function - foo 1 1-1
function - bar 2 2-2""",
    ),
}
