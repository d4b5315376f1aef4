# ruff: noqa: E501 - one language per line
"""Facts about languages, one per line: name | aliases | extensions without dot | exact file names.

If several languages share an extension, the first one applies, unless `PREFERRED` names another.
"""

PREFERRED = {
    ".h": "C", ".m": "Objective-C", ".r": "R", ".pl": "Perl", ".pm": "Perl", ".t": "Perl", ".v": "Verilog", ".fs": "F#",
    ".ts": "TypeScript", ".tsx": "TSX", ".cs": "C#", ".md": "Markdown", ".sql": "SQL", ".inc": "PHP", ".php": "PHP",
    ".rs": "Rust", ".s": "Assembly", ".asm": "Assembly", ".d": "D", ".cls": "Apex", ".pp": "Puppet", ".sc": "Scala",
    ".es": "JavaScript", ".gs": "JavaScript", ".html": "HTML", ".xml": "XML", ".yml": "YAML", ".yaml": "YAML",
    ".json": "JSON", ".tex": "TeX", ".sol": "Solidity", ".f": "Fortran", ".for": "Fortran", ".mm": "Objective-C++",
    ".l": "Lex", ".lisp": "Common Lisp", ".cl": "OpenCL", ".lsp": "Common Lisp", ".ml": "OCaml", ".pro": "Prolog",
    ".bas": "Visual Basic 6.0", ".frm": "Visual Basic 6.0", ".cmd": "Batchfile", ".ini": "INI", ".cfg": "INI",
    ".properties": "Java Properties", ".mod": "Modula-2", ".cgi": "Perl", ".fcgi": "Perl", ".bb": "BitBake",
    ".sch": "Scheme", ".sls": "Scheme", ".txt": "Text", ".nb": "Mathematica", ".as": "ActionScript", ".vcl": "VCL",
    ".st": "Smalltalk", ".j": "Objective-J", ".ijs": "J", ".x": "RPC", ".ch": "xBase",
    ".prg": "xBase", ".q": "q", ".res": "XML", ".workflow": "HCL", ".tf": "Terraform", ".tfvars": "Terraform",
    ".sh": "Shell", ".toml": "TOML", ".graphql": "GraphQL", ".nim": "Nim", ".kt": "Kotlin", ".n": "Nemerle",
    ".ncl": "Nickel", ".e": "Eiffel", ".ecl": "ECL", ".g": "GAP", ".gd": "GDScript", ".hh": "C++", ".i": "Assembly",
    ".lua": "Lua", ".jinja": "Jinja", ".pkl": "Pkl", ".ps": "PostScript", ".spec": "RPM Spec", ".stl": "STL",
    ".gradle": "Gradle", ".vba": "VBA", ".vb": "Visual Basic .NET", ".hcl": "HCL", ".nix": "Nix", ".moon": "MoonScript",
}  # fmt: skip

TABLE = """
ABAP | | abap |
ABNF | | abnf |
AGS Script | ags | asc ash |
AIDL | | aidl |
ANTLR | | g4 |
API Blueprint | | apib |
APL | | apl dyalog |
ASL | | asl dsl |
ASN.1 | | asn asn1 |
ASP.NET | aspx aspx-vb | asax ascx ashx asmx aspx axd |
ActionScript | actionscript3 as3 | as |
Ada | ada95 ada2005 | adb ada ads |
Agda | | agda |
Alloy | | als |
AngelScript | | as angelscript |
Ant Build System | | | ant.xml build.xml
ApacheConf | aconf apache | apacheconf vhost | .htaccess apache2.conf httpd.conf
Apex | | cls apex trigger |
AppleScript | osascript | applescript scpt |
Arduino | | ino |
AsciiDoc | | asciidoc adoc asc |
AspectJ | | aj |
Assembly | asm nasm | asm a51 i inc nas nasm s |
Astro | | astro |
Augeas | | aug |
AutoHotkey | ahk | ahk ahkl |
AutoIt | au3 autoit3 autoitscript | au3 |
Awk | | awk auk gawk mawk nawk |
Ballerina | | bal |
Batchfile | bat batch dosbatch winbatch | bat cmd |
Beef | | bf |
Bicep | | bicep bicepparam |
Bison | | bison |
BitBake | | bb bbappend bbclass |
Blade | | blade blade.php |
BlitzMax | bmax | bmx |
Bluespec | bsv | bsv |
Boo | | boo |
Boogie | | bpl |
Brainfuck | | b bf |
BrighterScript | | bs |
Brightscript | | brs |
Browserslist | | | .browserslistrc browserslist
C | | c cats h idc |
C# | csharp cake cakescript | cs cake csx linq |
C++ | cpp | cpp c++ cc cp cppm cxx h h++ hh hpp hxx inc inl ino ipp ixx re tcc tpp txx |
CMake | | cmake cmake.in | CMakeLists.txt
COBOL | | cob cbl ccp cobol cpy |
CODEOWNERS | | | CODEOWNERS
CSON | | cson |
CSS | | css |
CSV | | csv |
CUE | | cue |
Cabal Config | cabal | cabal | cabal.config cabal.project
Cadence | | cdc |
Cairo | | cairo |
Cap'n Proto | capnp | capnp |
Ceylon | | ceylon |
Chapel | chpl | chpl |
Checksums | checksum hash hashes sum | crc32 md5 sha1 sha2 sha224 sha256 sha256sum sha3 sha384 sha512 | MD5SUMS SHA1SUMS SHA256SUMS SHA512SUMS checksums.txt
Circom | | circom |
Cirru | | cirru |
Clarity | | clar |
Clean | | icl dcl |
Clojure | | clj bb boot cl2 cljc cljs cljscm cljx edn hic | riemann.config
Closure Templates | soy | soy |
Cloud Firestore Security Rules | | | firestore.rules
CodeQL | ql | ql qll |
CoffeeScript | coffee coffee-script | coffee _coffee cake cjsx iced | Cakefile
ColdFusion | cfm cfml | cfm cfml |
ColdFusion CFC | cfc | cfc |
Common Lisp | lisp | lisp asd cl l lsp ny podsl sexp |
Common Workflow Language | cwl | cwl |
Cool | | cl |
Coq | rocq | coq v |
Crystal | | cr |
Csound | csound-orc | orc udo |
Cuda | | cu cuh |
Curry | | curry |
Cycript | | cy |
Cypher | | cyp cypher |
Cython | pyrex | pyx pxd pxi |
D | dlang | d di |
D2 | d2lang | d2 |
DM | byond | dm |
Dafny | | dfy |
Dart | | dart |
DataWeave | | dwl |
Dhall | | dhall |
Diff | udiff | diff patch |
Dockerfile | containerfile | dockerfile containerfile | Dockerfile Containerfile
Dotenv | | env | .env .env.ci .env.dev .env.development .env.example .env.local .env.prod .env.production .env.sample .env.staging .env.test
Dylan | | dylan dyl intr lid |
E | | e |
EBNF | | ebnf |
ECL | | ecl eclxml |
EJS | | ejs ect ejs.t jst |
Earthly | earthfile | | Earthfile
Easybuild | | eb |
EdgeQL | esdl | edgeql esdl |
EditorConfig | editor-config | editorconfig | .editorconfig
Eiffel | | e |
Elixir | | ex exs | mix.lock
Elm | | elm |
Elvish | | elv |
Emacs Lisp | elisp emacs | el emacs emacs.desktop | .emacs .gnus .spacemacs .viper Cask Project.ede
EmberScript | | em emberscript |
Erlang | | erl app app.src escript hrl xrl yrl | Emakefile rebar.config rebar.config.lock rebar.lock
F# | fsharp | fs fsi fsx |
F* | fstar | fst fsti |
FIGlet Font | figfont | flf |
Factor | | factor | .factor-boot-rc .factor-rc
Fancy | | fancy fy | Fakefile
Fantom | | fan |
Faust | | dsp |
Fennel | | fnl |
Filterscript | | fs |
Fluent | | ftl |
Forth | | fth 4th f for forth fr frt fs |
Fortran | | f f77 for fpp |
Fortran Free Form | | f90 f03 f08 f95 |
FreeBASIC | fb | bi bas |
FreeMarker | ftl | ftl ftlh |
Frege | | fr |
Futhark | | fut |
G-code | | g cnc gco gcode |
GAML | | gaml |
GAMS | | gms |
GAP | | g gap gd gi tst |
GDB | | gdb gdbinit |
GDScript | | gd |
GLSL | | glsl fp frag frg fs fsh fshader geo geom glslf glslv gs gshader rchit rmiss shader tesc tese vert vrx vs vsh vshader |
GN | | gn gni | .gn
Game Maker Language | | gml |
Gemfile.lock | | | Gemfile.lock
Gemini | gemtext | gmi |
Genie | | gs |
Gerber Image | rs-274x | gbr cmp gbl gbo gbp gbs gko gml gpb gpt gtl gto gtp gts |
Gettext Catalog | pot | po pot |
Gherkin | cucumber | feature story |
Git Attributes | gitattributes | gitattributes | .gitattributes
Git Config | gitconfig gitmodules | gitconfig | .gitconfig .gitmodules
Git Revision List | | | .git-blame-ignore-revs
Gleam | | gleam |
Glyph | | glf |
Gnuplot | | gp gnu gnuplot p plot plt |
Go | golang | go |
Go Checksums | go.sum go-sum go.work.sum | | go.sum go.work.sum
Go Module | go.mod go-mod | | go.mod
Go Workspace | go.work go-work | | go.work
Go Template | gohtml gotmpl html.tmpl | gohtml gotmpl html.tmpl tmpl |
Godot Resource | | gdnlib gdns tres tscn | project.godot
Golo | | golo |
Gosu | | gs gst gsx vark |
Grace | | grace |
Gradle | | gradle |
Grammatical Framework | gf | gf |
GraphQL | | graphql gql graphqls |
Graphviz (DOT) | dot | dot gv |
Groovy | | groovy grt gtpl gvy | Jenkinsfile
Groovy Server Pages | gsp java-server-page | gsp |
HAProxy | | | haproxy.cfg
HCL | terraform-hcl | hcl nomad workflow |
HLSL | | hlsl cginc fx fxh hlsli |
HOCON | | hocon | .scalafix.conf .scalafmt.conf
HTML | xhtml | html hta htm html.hl inc xht xhtml |
HTML+EEX | eex heex leex | html.eex heex leex eex |
HTML+ERB | erb rhtml html+ruby | erb erb.deface rhtml html.erb |
HTML+PHP | | phtml |
HTML+Razor | razor | cshtml razor |
HTTP | | http |
HXML | | hxml |
Hack | | hack hh hhi |
Haml | | haml haml.deface |
Handlebars | hbs htmlbars | handlebars hbs |
Haskell | | hs hs-boot hsc |
Haxe | | hx hxsl |
HiveQL | | q hql |
HolyC | | hc |
Hosts File | hosts | | HOSTS hosts
Hy | hylang | hy |
IDL | | pro dlm |
IGOR Pro | igor igorpro | ipf |
INI | dosini | ini cfg cnf dof lektorproject prefs pro properties url | .coveragerc .flake8 .pylintrc buildozer.spec pylintrc
Idris | | idr lidr |
Ignore List | ignore gitignore git-ignore | gitignore | .gitignore .dockerignore .eslintignore .npmignore .prettierignore .stylelintignore .cvsignore .gcloudignore .vercelignore .vscodeignore .bzrignore .helmignore gitignore-global
ImageJ Macro | ijm | ijm |
Imba | | imba |
Inform 7 | i7 inform7 | ni i7x |
Ink | | ink |
Inno Setup | | iss isl |
Io | | io |
Ioke | | ik |
Isabelle | | thy |
J | | ijs |
JAR Manifest | | | MANIFEST.MF
JCL | | jcl |
JSON | geojson jsonl topojson | json 4dform 4dproject avsc geojson gltf har ice jsonl mcmeta sarif tact tfstate tfstate.backup topojson webapp webmanifest yy yyp | .all-contributorsrc .arcconfig .auto-changelog .c8rc .htmlhintrc .imgbotconfig .nycrc .tern-config .tern-project .watchmanconfig MODULE.bazel.lock Package.resolved Pipfile.lock bun.lock composer.lock deno.lock flake.lock mcmod.info .babelrc.json
JSON with Comments | jsonc | jsonc code-snippets code-workspace sublime-build sublime-commands sublime-keymap sublime-menu sublime-project sublime-settings sublime-snippet sublime-syntax sublime-theme | .babelrc .devcontainer.json .eslintrc.json .jscsrc .jshintrc .jslintrc .swcrc api-extractor.json devcontainer.json jsconfig.json language-configuration.json tsconfig.json tslint.json
JSON5 | | json5 |
JSONLD | | jsonld |
JSONiq | | jq |
Janet | | janet |
Jasmin | | j |
Java | | java jav jsh |
Java Properties | | properties |
Java Server Pages | jsp | jsp tag |
JavaScript | js node | js _js bones cjs es es6 frag gs jake javascript jsb jscad jsfl jslib jsm jspre jss jsx mjs njs pac sjs ssjs xsjs xsjslib | Jakefile
JavaScript+ERB | | js.erb |
Jinja | django html+django html+jinja htmldjango | jinja j2 jinja2 njk |
Jolie | | ol iol |
Jsonnet | | jsonnet libsonnet |
Julia | | jl |
Jupyter Notebook | ipython-notebook | ipynb | Notebook
Just | justfile | just | .justfile JUSTFILE Justfile justfile
KRL | | krl |
Kaitai Struct | ksy | ksy |
Kit | | kit |
Kotlin | | kt ktm kts |
Kusto | | csl kql |
LFE | | lfe |
LLVM | | ll |
LOLCODE | | lol |
LSL | | lsl lslp |
LabVIEW | | lvproj lvclass lvlib |
Lark | | lark |
Lasso | lassoscript | lasso las lasso8 lasso9 |
Latte | | latte |
Lean | lean4 | lean hlean |
Less | less-css | less |
Lex | flex | l lex | Lexer.x lexer.x
LilyPond | | ly ily |
Linker Script | | ld lds x | ld.script
Liquid | | liquid |
Literate Agda | | lagda |
Literate CoffeeScript | litcoffee | litcoffee coffee.md |
Literate Haskell | lhaskell lhs | lhs |
LiveScript | live-script ls | ls _ls | Slakefile
Logos | | xm x xi |
Logtalk | | lgt logtalk |
LookML | | lkml lookml |
LoomScript | | ls |
Lua | | lua fcgi nse p8 pd_lua rbxs rockspec wlua | .luacheckrc
Luau | | luau |
M | mumps | mumps m |
M4 | | m4 mc |
M4Sugar | autoconf | | configure.ac
MATLAB | octave | matlab m |
MAXScript | | ms mcr |
MDX | | mdx |
MLIR | | mlir |
MQL4 | | mq4 mqh |
MQL5 | | mq5 mqh |
Macaulay2 | m2 | m2 |
Makefile | bsdmake make mf | mak d make makefile mk mkfile | BSDmakefile GNUmakefile Kbuild Makefile Makefile.am Makefile.boot Makefile.frag Makefile.in Makefile.inc Makefile.wat makefile makefile.sco mkfile
Mako | | mako mao |
Markdown | md pandoc | md livemd markdown mdown mdwn mkd mkdn mkdown ronn scd workbook | contents.lr
Marko | markojs | marko |
Mask | | mask |
Mathematica | mma wolfram wolfram-language wl | mathematica cdf m ma mt nb nbp wl wlt |
Maven POM | | | pom.xml
Max | max/msp maxmsp | maxpat maxhelp maxproj mxt pat |
Mercury | | m moo |
Mermaid | mermaid-example | mmd mermaid |
Meson | | | meson.build meson_options.txt
Metal | | metal |
MiniZinc | | mzn |
Mint | | mint |
Mirah | | druby duby mirah |
Modelica | | mo |
Modula-2 | | mod def |
Modula-3 | | i3 ig m3 mg |
Mojo | | mojo |
Monkey | | monkey monkey2 |
MoonBit | | mbt |
MoonScript | | moon |
Motoko | | mo |
Move | | move |
Mustache | | mustache |
NASL | | nasl inc |
NCL | | ncl |
NPM Config | npmrc | | .npmrc
NSIS | | nsi nsh |
NWScript | | nss |
Nearley | | ne nearley |
Nemerle | | n |
NetLinx | | axs axi |
NetLogo | | nlogo |
NewLisp | | nl lisp lsp |
Nextflow | | nf | nextflow.config
Nginx | nginx-configuration-file | nginx nginxconf vhost | nginx.conf
Nickel | | ncl |
Nim | | nim nim.cfg nimble nimrod nims | nim.cfg
Ninja | | ninja |
Nit | | nit |
Nix | nixos | nix |
Noir | nargo | nr |
Nu | nush | nu | Nukefile
Nunjucks | | njk |
Nushell | nu-script nushell-script | nu |
OCaml | | ml eliom eliomi ml4 mli mll mly |
Objective-C | obj-c objc objectivec | m h |
Objective-C++ | obj-c++ objc++ objectivec++ | mm |
Objective-J | obj-j objectivej objj | j sj |
Odin | odinlang odin-lang | odin |
Opa | | opa |
OpenCL | | cl opencl |
OpenEdge ABL | abl progress openedge | p cls w |
OpenQASM | | qasm |
OpenSCAD | | scad |
OpenStep Property List | | plist glyphs |
Org | | org |
Ox | | ox oxh oxo |
Oxygene | | oxygene |
Oz | | oz |
PHP | inc | php aw ctp fcgi inc php3 php4 php5 phps phpt | .php .php_cs .php_cs.dist Phakefile
PLSQL | | pls bdy ddl fnc pck pkb pkg pks plb plsql prc spc sql tpb tps trg vw |
PLpgSQL | | pgsql sql |
POV-Ray SDL | pov-ray povray | pov inc |
Pan | | pan |
Papyrus | | psc |
Parrot Assembly | pasm | pasm |
Pascal | delphi objectpascal | pas dfm dpr inc lpr pascal pp |
Pawn | | pwn inc sma |
Perl | cperl | pl al cgi fcgi perl ph plx pm psgi t | .latexmkrc Makefile.PL Rexfile ack cpanfile latexmkrc
Pic | pikchr | pic chem |
PicoLisp | | l |
Pike | | pike pmod |
Pip Requirements | | | requirements.txt requirements-dev.txt dev-requirements.txt requirements.in
Pkl | | pkl |
PlantUML | | puml iuml plantuml |
Pod | | pod |
PogoScript | | pogo |
Polar | | polar |
Pony | | pony |
PostCSS | | pcss postcss |
PostScript | postscr | ps eps epsi pfa |
PowerBuilder | | pbt sra sru srw |
PowerShell | posh pwsh | ps1 psd1 psm1 |
Prisma | | prisma |
Processing | | pde |
Procfile | | | Procfile
Prolog | | pl plt pro prolog yap |
Promela | | pml |
Propeller Spin | | spin |
Protocol Buffer | proto protobuf protocol-buffers | proto |
Protocol Buffer Text Format | text-proto textproto | textproto pbtxt prototxt txtpb |
Public Key | | asc pub |
Pug | jade | jade pug |
Puppet | | pp | Modulefile
Pure Data | | pd |
PureBasic | | pb pbi |
PureScript | | purs |
Pyret | | arr |
Python | python3 py rusthon | py cgi fcgi gyp gypi lmi py3 pyde pyi pyp pyt pyw rpy spec tac wsgi xpy | .gclient DEPS SConscript SConstruct wscript
Python traceback | | pytb |
Q# | qsharp | qs |
QML | | qml qbs |
QMake | | pro pri |
Qt Script | | qs |
Quake | | | m3makefile m3overrides
R | rscript splus | r rd rsx | .Rprofile expr-dist
RAML | | raml |
RDoc | | rdoc |
REXX | arexx | rexx pprx rex |
RMarkdown | | qmd rmd |
RON | | ron |
RPC | xdr oncrpc rpcgen | x |
RPM Spec | specfile | spec |
RUNOFF | | rnh rno |
Racket | | rkt rktd rktl scrbl |
Ragel | ragel-rb ragel-ruby | rl |
Raku | perl6 perl-6 | 6pl 6pm nqp p6 p6l p6m pl pl6 pm pm6 raku rakumod t |
Rascal | | rsc |
ReScript | | res resi |
Reason | | re rei |
Rebol | | reb r r2 r3 rebol |
Red | red/system | red reds |
Regular Expression | regexp regex | regexp regex |
Ren'Py | renpy | rpy |
RenderScript | | rs rsh |
Rich Text Format | | rtf |
Ring | | ring |
RobotFramework | | robot resource |
Roc | | roc |
Roff | groff man manpage man-page mdoc nroff troff | roff 1 1in 1m 1x 2 3 3in 3m 3p 3pm 3qt 3x 4 5 6 7 8 9 l man mdoc me ms n nr rno tmac | eqnrc mmn mmt troffrc troffrc-end
Rouge | | rg |
Ruby | jruby macruby rake rb rbx | rb builder eye fcgi gemspec god jbuilder mspec pluginspec podspec prawn rabl rake rbi rbuild rbw rbx ru ruby spec thor watchr | .irbrc .pryrc .simplecov Appraisals Berksfile Brewfile Buildfile Capfile Dangerfile Deliverfile Fastfile Gemfile Guardfile Jarfile Mavenfile Podfile Puppetfile Rakefile Snapfile Steepfile Thorfile Vagrantfile buildfile
Rust | rs | rs rs.in |
SAS | | sas |
SCSS | | scss |
SPARQL | | sparql rq |
SQL | | sql cql ddl inc mysql prc tab udf viw |
SQLPL | | db2 sql |
SRecode Template | | srt |
SSH Config | sshconfig ssh-config sshd-config | | ssh-config ssh_config sshconfig sshd-config sshd_config
STL | ascii-stl stla | stl |
SVG | | svg |
SWIG | | i swg swig |
Sass | | sass |
Scala | | scala kojo sbt sc |
Scaml | | scaml |
Scheme | | scm sch sld sls sps ss |
Scilab | | sci sce tst |
Self | | self |
ShaderLab | | shader |
Shell | sh shell-script bash zsh envrc | sh bash bats cgi command fcgi ksh sh.in tmux tool trigger zsh zsh-theme | .bash_aliases .bash_functions .bash_history .bash_logout .bash_profile .bashrc .cshrc .envrc .flaskenv .kshrc .login .profile .tmux.conf .xinitrc .xsession .zlogin .zlogout .zprofile .zshenv .zshrc 9fs PKGBUILD bash_aliases bash_logout bash_profile bashrc cshrc gradlew kshrc login man profile tmux.conf zlogin zlogout zprofile zshenv zshrc
ShellCheck Config | | | .shellcheckrc
ShellSession | bash-session console | sh-session |
Slash | | sl |
Slice | | ice |
Slim | | slim |
Slint | | slint |
SmPL | coccinelle | cocci |
Smali | | smali |
Smalltalk | squeak | st cs |
Smarty | | tpl |
Smithy | | smithy |
Snakemake | snakefile | smk snakefile | Snakefile
Solidity | | sol |
SourcePawn | sourcemod | sp inc |
Squirrel | | nut |
Stan | | stan |
Standard ML | sml | sml ml fun sig |
Starlark | bazel bzl | bzl star | BUCK BUILD BUILD.bazel MODULE.bazel Tiltfile WORKSPACE WORKSPACE.bazel WORKSPACE.bzlmod
Stata | | do ado doh ihlp mata matah sthlp |
StringTemplate | | st |
Stylus | | styl |
SubRip Text | | srt |
SugarSS | | sss |
SuperCollider | | sc scd |
Svelte | | svelte |
Sway | | sw |
Swift | | swift |
SystemVerilog | | sv svh vh |
TLA | | tla |
TOML | | toml | Cargo.lock Gopkg.lock Pipfile pdm.lock poetry.lock uv.lock
TSQL | | sql |
TSV | tab-seperated-values | tsv vcf |
TSX | | tsx |
TXL | | txl |
Talon | | talon |
Tcl | sdc xdc | tcl adp sdc tcl.in tm xdc | owh starfield
Tcsh | | tcsh csh |
TeX | latex | tex aux bbx cbx cls dtx ins lbx ltx mkii mkiv mkvi sty toc |
BibTeX | | bib bibtex |
Tea | | tea |
Terra | | t |
Terraform | terraform-configuration tf | tf tfvars tofu |
Terraform Template | | tftpl |
Texinfo | | texinfo texi txi |
Text | fundamental plain-text | txt fr nb ncl no | CITATION CITATIONS COPYING COPYING.regex COPYRIGHT.regex FONTLOG INSTALL INSTALL.mysql LICENSE LICENSE.mysql NEWS README.me README.mysql README.nss click.me delete.me keep.me package.mask package.use.mask read.me readme.1st
TextMate Properties | tm-properties | | .tm_properties
Textile | | textile |
Thrift | | thrift |
Tree-sitter Query | tsq | scm |
Turing | | t tu |
Turtle | | ttl |
Twig | | twig |
Type Language | tl | tl |
TypeScript | ts | ts cts mts |
Typst | typ | typ |
UnrealScript | | uc |
UrWeb | ur/web | ur urs |
V | vlang | v |
VBA | | vba bas cls frm |
VBScript | | vbs |
VCL | | vcl |
VHDL | | vhdl vhd vhf vhi vho vhs vht vhw |
Vala | | vala vapi |
Valve Data Format | keyvalues vdf | vdf |
Verilog | | v veo |
Vim Script | vim viml nvim vimscript vim-script | vim vba vimrc vmb | .exrc .gvimrc .nvimrc .vimrc _vimrc gvimrc nvimrc vimrc
Vim Snippet | snipmate ultisnip ultisnips neosnippet | snip snippet snippets |
Visual Basic .NET | visual-basic vbnet vb.net vb | vb vbhtml |
Visual Basic 6.0 | vb6 visual-basic-classic classic-visual-basic | bas cls ctl dsr frm |
Volt | | volt |
Vue | | vue |
Vyper | | vy |
WGSL | | wgsl |
Wavefront Object | | obj |
Web Ontology Language | | owl |
WebAssembly | wast wasm | wast wat |
WebIDL | | webidl |
WebVTT | vtt | vtt |
Wget Config | wgetrc | | .wgetrc
Whiley | | whiley |
Wikitext | mediawiki wiki | mediawiki wiki wikitext |
Windows Registry Entries | | reg |
Wollok | | wlk |
World of Warcraft Addon Data | | toc |
Wren | wrenlang | wren |
X10 | xten | x10 |
XC | | xc |
XML | rss xsd wsdl | xml adml admx ant axaml axml builds ccproj ccxml clixml cproject cscfg csdef csl csproj ct depproj dita ditamap ditaval dll.config dotsettings filters fsproj fxml glade gml gmx gpx grxml gst hzp iml ivy jelly jsproj kml launch mdpolicy mjml mod mojo mxml natvis ncl ndproj nproj nuspec odd osm pkgproj pluginspec proj props ps1xml psc1 pt pubxml qhelp rdf res resx rs rss sch scxml sfproj shproj srdf storyboard sublime-snippet sw targets tml ui urdf ux vbproj vcxproj vsixmanifest vssettings vstemplate vxml wixproj workflow wsdl wsf wxi wxl wxs x3d xacro xaml xib xlf xliff xmi xml.dist xmp xproj xsd xspec xul zcml | .classpath .cproject .project App.config NuGet.config Settings.StyleCop Web.Debug.config Web.Release.config Web.config packages.config
XML Property List | | plist stTheme tmCommand tmLanguage tmPreferences tmSnippet tmTheme |
XPages | | xsp-config xsp.metadata |
XProc | | xpl xproc |
XQuery | | xquery xq xql xqm xqy |
XS | | xs |
XSLT | xsl | xslt xsl |
Xojo | | xojo_code xojo_menu xojo_report xojo_script xojo_toolbar xojo_window |
Xonsh | | xsh |
Xtend | | xtend |
YAML | yml | yml mir reek rviz sublime-syntax syntax yaml yaml-tmlanguage yaml.sed yml.mysql | .clang-format .clang-tidy .clangd .gemrc CITATION.cff glide.lock pixi.lock yarn.lock
YANG | | yang |
YARA | | yar yara |
Yacc | | y yacc yy |
Yul | | yul |
ZAP | | zap xzap |
ZIL | | zil mud |
Zeek | bro | zeek bro |
ZenScript | | zs |
Zephir | | zep |
Zig | | zig zig.zon |
Zimpl | | zimpl zmpl zpl |
cURL Config | curlrc | | .curlrc _curlrc
desktop | | desktop desktop.in service |
dircolors | | dircolors | .dir_colors .dircolors DIR_COLORS
eC | | ec eh |
edn | | edn |
fish | | fish |
hoon | | hoon |
jq | | jq |
kvlang | | kv |
mIRC Script | | mrc |
mcfunction | | mcfunction |
mupad | | mu |
nanorc | | nanorc | .nanorc nanorc
nesC | | nc |
ooc | | ooc |
q | | q |
reStructuredText | rst | rst rest rest.txt rst.txt |
robots.txt | robots robots-txt | | robots.txt
sed | | sed |
templ | | templ |
wisp | | wisp |
xBase | advpl clipper foxpro | prg ch prw |
"""
