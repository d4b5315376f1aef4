package main

import (
	"encoding/json"
	"go/ast"
	"go/token"
	"go/types"
	"math/rand"
	"sort"

	"golang.org/x/tools/go/packages"
)

// spot is a line of a file of the checkout; line 0 stands for the top of the file.
type spot struct {
	file string
	line int
}

// call is one call: the line of the called name, the function around it, and what is called.
type call struct {
	at     spot
	caller int
	callee spot
}

// function is a declared function, at the line of its name.
type function struct {
	at   spot
	name string
}

type calls struct {
	root      string
	files     map[string]bool
	functions map[function]bool
	calls     map[call]bool
	undecided map[function]bool
}

// printCalls prints the files that were read and the calls that go/types can't tell, then for functions drawn by a
// seed their callers (file, line, line of the calling function) and callees (line, file and line of the function).
func printCalls(root string, loaded []*packages.Package, count int, seed int64, encoder *json.Encoder) {
	all := calls{root, map[string]bool{}, map[function]bool{}, map[call]bool{}, map[function]bool{}}
	for _, pkg := range loaded {
		for _, file := range pkg.Syntax {
			all.collect(pkg, file)
		}
	}
	files, undecided := []string{}, [][]any{}
	for file := range all.files {
		files = append(files, file)
	}
	for one := range all.undecided {
		undecided = append(undecided, []any{one.at.file, one.at.line, one.name})
	}
	encoder.Encode(map[string]any{"files": files, "undecided": undecided})

	callers, callees := map[spot][]call{}, map[spot][]call{}
	for one := range all.calls {
		callers[one.callee] = append(callers[one.callee], one)
		callees[spot{one.at.file, one.caller}] = append(callees[spot{one.at.file, one.caller}], one)
	}
	drawn := []function{}
	for one := range all.functions {
		drawn = append(drawn, one)
	}
	sort.Slice(drawn, func(i, j int) bool {
		a, b := drawn[i], drawn[j]
		return a.at.file < b.at.file || a.at.file == b.at.file && a.at.line < b.at.line
	})
	rand.New(rand.NewSource(seed)).Shuffle(len(drawn), func(i, j int) { drawn[i], drawn[j] = drawn[j], drawn[i] })
	for _, one := range drawn[:min(count, len(drawn))] {
		up, down := [][]any{}, [][]any{}
		for _, c := range callers[one.at] {
			up = append(up, []any{c.at.file, c.at.line, c.caller})
		}
		for _, c := range callees[one.at] {
			down = append(down, []any{c.at.line, c.callee.file, c.callee.line})
		}
		encoder.Encode(map[string]any{
			"file": one.at.file, "line": one.at.line, "name": one.name, "callers": up, "callees": down,
		})
	}
}

func (all *calls) place(pkg *packages.Package, node interface{ Pos() token.Pos }) (spot, bool) {
	at := pkg.Fset.Position(node.Pos())
	file, ok := within(all.root, at)
	return spot{file, at.Line}, ok
}

func (all *calls) collect(pkg *packages.Package, file *ast.File) {
	here, ok := all.place(pkg, file)
	if !ok {
		return
	}
	all.files[here.file] = true
	for _, declaration := range file.Decls {
		caller := 0
		if declared, ok := declaration.(*ast.FuncDecl); ok {
			at, _ := all.place(pkg, declared.Name)
			caller = at.line
			if name := declared.Name.Name; name != "init" && name != "_" && declared.Body != nil {
				all.functions[function{at, name}] = true
			}
		}
		ast.Inspect(declaration, func(n ast.Node) bool {
			if made, ok := n.(*ast.CallExpr); ok {
				all.add(pkg, made, caller)
			}
			return true
		})
	}
}

func (all *calls) add(pkg *packages.Package, made *ast.CallExpr, caller int) {
	fun := ast.Unparen(made.Fun)
	switch generic := fun.(type) {
	case *ast.IndexExpr:
		fun = generic.X
	case *ast.IndexListExpr:
		fun = generic.X
	}
	var name *ast.Ident
	switch named := fun.(type) {
	case *ast.Ident:
		name = named
	case *ast.SelectorExpr:
		name = named.Sel
	default:
		return // the call of a result names nothing
	}
	at, _ := all.place(pkg, name)
	switch object := pkg.TypesInfo.Uses[name].(type) {
	case nil:
		all.undecided[function{at, name.Name}] = true
	case *types.Func: // a variable holds an unknown function; conversions and builtins call none
		if target, ok := all.place(pkg, object.Origin()); ok && object.Pos().IsValid() {
			all.calls[call{at, caller, target}] = true
		}
	}
}
