// Command names prints, for every identifier of the packages below a folder, where go/types says it is defined:
// one JSON object a line with file, offset, name, category, and targets (file and offset). A second argument adds the
// tests. With "calls", a number and a seed after the folder it prints the calls of functions instead, see calls.go.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"
)

type row struct {
	File     string  `json:"file"`
	Offset   int     `json:"offset"`
	Name     string  `json:"name"`
	Category string  `json:"category"`
	Targets  [][]any `json:"targets"`
}

func main() {
	root, _ := filepath.Abs(os.Args[1])
	root, _ = filepath.EvalSymlinks(root)
	config := &packages.Config{Dir: root, Tests: len(os.Args) > 2, Mode: packages.LoadAllSyntax}
	loaded, err := packages.Load(config, "./...")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	if len(os.Args) > 4 && os.Args[2] == "calls" {
		count, _ := strconv.Atoi(os.Args[3])
		seed, _ := strconv.ParseInt(os.Args[4], 10, 64)
		printCalls(root, loaded, count, seed, encoder)
		return
	}
	seen := map[string]bool{}
	for _, pkg := range loaded {
		for _, file := range pkg.Syntax {
			selected, keys := map[*ast.Ident]bool{}, map[*ast.Ident]bool{}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.SelectorExpr:
					selected[n.Sel] = true
				case *ast.KeyValueExpr:
					if key, ok := n.Key.(*ast.Ident); ok {
						keys[key] = true
					}
				}
				return true
			})
			emit := func(id *ast.Ident, obj types.Object, category string) {
				if obj == nil || !obj.Pos().IsValid() || id.Name == "_" {
					return
				}
				from, to := pkg.Fset.Position(id.Pos()), pkg.Fset.Position(obj.Pos())
				here, ok1 := within(root, from)
				there, ok2 := within(root, to)
				place := fmt.Sprint(here, from.Offset)
				if !ok1 || !ok2 || seen[place] {
					return
				}
				seen[place] = true
				encoder.Encode(row{here, from.Offset, id.Name, category, [][]any{{there, to.Offset}}})
			}
			for id, obj := range pkg.TypesInfo.Uses {
				category := "same package"
				switch o := obj.(type) {
				case *types.PkgName:
					continue
				case *types.Var:
					if o.IsField() {
						category = "method or field"
						if keys[id] {
							category = "field key"
						}
					} else if o.Parent() != nil && o.Parent() != o.Pkg().Scope() {
						category = "local"
					}
				case *types.Func:
					if o.Type().(*types.Signature).Recv() != nil {
						category = "method or field"
					}
				case *types.Label:
					category = "local"
				}
				if category == "same package" && selected[id] {
					category = "member of imported package"
				}
				if obj.Pkg() != nil && obj.Parent() != nil && category == "same package" && obj.Parent() != obj.Pkg().Scope() {
					category = "local"
				}
				emit(id, obj, category)
			}
		}
	}
}

func within(root string, at token.Position) (string, bool) {
	rest, err := filepath.Rel(root, at.Filename)
	return filepath.ToSlash(rest), err == nil && !strings.HasPrefix(rest, "..")
}
