package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// mutant is one change. Its name survives changes elsewhere in the file: it has the function, the
// kind and the text that is changed, and a number where a function has several of one text.
type mutant struct {
	id         int
	pkg        *pkg
	name, file string
	line, last int
	dropped    bool // the compiler refuses it
	lives      bool

	listed, starred bool // among the survivors with a reason: by its name, by a line with a star
}

// edit inserts text: before what a mutant changes, or behind it.
type edit struct {
	of     *mutant
	file   string
	at     int
	closes bool
	text   string
}

type mutator struct {
	p     *pkg
	types *types.Package
	info  *types.Info
	fset  *token.FileSet
	file  string
	in    string // the function
	names map[string]int
	stack []ast.Node
}

// mutate lists the mutants of all functions of a file.
func mutate(p *pkg, checked *types.Package, info *types.Info, fset *token.FileSet, f *ast.File, file string) {
	m := &mutator{p: p, types: checked, info: info, fset: fset, file: file, names: map[string]int{}}
	for _, decl := range f.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Body == nil || slices.Contains([]string{"String", "Error", "Kind", "Names", "init"}, fn.Name.Name) {
			continue
		}
		m.in = fn.Name.Name
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			if n == nil {
				m.stack = m.stack[:len(m.stack)-1]
				return false
			}
			if !m.visit(n) {
				return false
			}
			m.stack = append(m.stack, n)
			return true
		})
	}
}

func (m *mutator) text(n ast.Node) string {
	return string(m.p.source[m.file][m.offset(n.Pos()):m.offset(n.End())])
}

func (m *mutator) offset(p token.Pos) int { return m.fset.Position(p).Offset }

// add makes a mutant of n: before and behind are written around it, with the mutant's number for %d.
func (m *mutator) add(n ast.Node, kind, before, behind string) {
	what := strings.Join(strings.Fields(m.text(n)), " ")
	if len(what) > 90 {
		what = what[:90] + "..."
	}
	name := fmt.Sprintf("%s %s: %s: %s", filepath.Join(m.p.rel, filepath.Base(m.file)), m.in, kind, what)
	m.names[name]++
	if same := m.names[name]; same > 1 {
		name += " #" + strconv.Itoa(same)
	}
	mu := &mutant{id: len(m.p.mutants) + 1, pkg: m.p, name: name, file: filepath.Join(m.p.rel, filepath.Base(m.file)),
		line: m.fset.Position(n.Pos()).Line, last: m.fset.Position(n.End()).Line}
	m.p.mutants = append(m.p.mutants, mu)
	id := strconv.Itoa(mu.id)
	m.p.edits = append(m.p.edits,
		edit{mu, m.file, m.offset(n.Pos()), false, strings.ReplaceAll(before, "%d", id)},
		edit{mu, m.file, m.offset(n.End()), true, strings.ReplaceAll(behind, "%d", id)})
}

func (m *mutator) parent(up int) ast.Node {
	if up > len(m.stack) {
		return nil
	}
	return m.stack[len(m.stack)-up]
}

// visit adds the mutants of n, and says whether to look inside it.
func (m *mutator) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BlockStmt:
		m.statements(n.List)
	case *ast.CaseClause:
		m.statements(n.Body)
		if sw, ok := m.parent(2).(*ast.SwitchStmt); ok && sw.Tag == nil {
			for _, cond := range n.List {
				m.condition(cond, true)
			}
		}
	case *ast.IfStmt:
		m.condition(n.Cond, n.Else == nil && ends(n.Body))
	case *ast.ForStmt:
		if n.Cond != nil {
			m.condition(n.Cond, false)
		}
	case ast.Expr:
		return m.expression(n)
	case *ast.DeclStmt:
		return false // a declaration inside a function: constants, and zero values
	}
	return true
}

// ends: nothing behind the block runs after it.
func ends(b *ast.BlockStmt) bool {
	if len(b.List) == 0 {
		return false
	}
	switch b.List[len(b.List)-1].(type) {
	case *ast.ReturnStmt, *ast.BranchStmt:
		return true
	}
	return false
}

// statements are dropped one at a time. A declaration is needed by what follows, and a return by the compiler.
func (m *mutator) statements(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE {
				continue
			}
		case *ast.ExprStmt:
			if call, ok := s.X.(*ast.CallExpr); ok {
				if name, ok := call.Fun.(*ast.Ident); ok && name.Name == "panic" {
					continue
				}
			}
		case *ast.IncDecStmt, *ast.DeferStmt, *ast.BranchStmt:
		default:
			continue
		}
		m.add(s, "drop", "if !mutantOn(%d) { ", " }")
	}
}

// condition is negated, and never true: the second is a rule that was forgotten.
func (m *mutator) condition(cond ast.Expr, guard bool) {
	m.add(cond, "negate", "(mutantOn(%d) != (", "))")
	if guard {
		m.add(cond, "never", "(!mutantOn(%d) && (", "))")
	}
}

func (m *mutator) expression(e ast.Expr) bool {
	tv := m.info.Types[e]
	if tv.IsType() {
		return false
	}
	if tv.Value != nil {
		m.constant(e, tv)
		return false
	}
	switch e := e.(type) {
	case *ast.BinaryExpr:
		m.binary(e)
	case *ast.CallExpr:
		m.boundaryOfTimes(e)
	case *ast.SelectorExpr:
		m.field(e)
	case *ast.CompositeLit:
		return m.literal(e)
	}
	return true
}

func (m *mutator) binary(e *ast.BinaryExpr) {
	both := m.text(e.X) + " == " + m.text(e.Y)
	oneLine := !strings.Contains(both, "\n") && !m.calls(e)
	switch e.Op {
	case token.LAND:
		m.add(e.X, "without", "(mutantOn(%d) || (", "))")
		m.add(e.Y, "without", "(mutantOn(%d) || (", "))")
	case token.LOR:
		m.add(e.X, "without", "(!mutantOn(%d) && (", "))")
		m.add(e.Y, "without", "(!mutantOn(%d) && (", "))")
	case token.LSS, token.GTR:
		if oneLine {
			m.add(e, "boundary", "(", " || mutantOn(%d) && "+both+")")
		}
	case token.LEQ, token.GEQ:
		if oneLine {
			m.add(e, "boundary", "(", " && !(mutantOn(%d) && "+both+"))")
		}
	case token.EQL, token.NEQ:
		if _, ok := m.parent(1).(*ast.ReturnStmt); ok {
			m.add(e, "negate", "(mutantOn(%d) != (", "))")
		}
	}
}

// calls: something in e may have an effect, so that its text is not written twice.
func (m *mutator) calls(e ast.Expr) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && !m.info.Types[call.Fun].IsType() {
			if name, ok := call.Fun.(*ast.Ident); !ok || name.Name != "len" {
				found = true
			}
		}
		return !found
	})
	return found
}

// boundaryOfTimes: a.Before(b) and a.After(b) are false for equal times, and their mutants are true.
func (m *mutator) boundaryOfTimes(e *ast.CallExpr) {
	fn, ok := e.Fun.(*ast.SelectorExpr)
	if !ok || len(e.Args) != 1 || fn.Sel.Name != "Before" && fn.Sel.Name != "After" {
		return
	}
	if t := m.info.Types[fn.X].Type; t == nil || t.String() != "time.Time" {
		return
	}
	equal := m.text(fn.X) + ".Equal(" + m.text(e.Args[0]) + ")"
	if !strings.Contains(equal, "\n") {
		m.add(e, "boundary", "(", " || mutantOn(%d) && "+equal+")")
	}
}

// constant: one of an enumeration becomes the next one, another whole number one more.
func (m *mutator) constant(e ast.Expr, tv types.TypeAndValue) {
	if kv, ok := m.parent(1).(*ast.KeyValueExpr); ok && kv.Key == e {
		return // an index of an array must be constant
	}
	if obj := m.object(e); obj != nil {
		if next := m.nextOf(obj); next != "" {
			m.add(e, "outcome "+next, "mutantPick(%d, ", ", "+next+")")
			return
		}
	}
	basic, ok := tv.Type.Underlying().(*types.Basic)
	if !ok || basic.Info()&types.IsInteger == 0 || tv.Value.Kind() != constant.Int {
		return
	}
	if name, ok := m.typeName(tv.Type); ok {
		m.add(e, "off by one", "mutantPick["+name+"](%d, ", ", "+m.text(e)+" + 1)")
	}
}

func (m *mutator) object(e ast.Expr) *types.Const {
	switch x := e.(type) {
	case *ast.Ident:
		c, _ := m.info.Uses[x].(*types.Const)
		return c
	case *ast.SelectorExpr:
		c, _ := m.info.Uses[x.Sel].(*types.Const)
		return c
	}
	return nil
}

// nextOf is the text of the constant of c's type that comes after c, the first one after the last.
func (m *mutator) nextOf(c *types.Const) string {
	named, ok := types.Unalias(c.Type()).(*types.Named)
	if !ok || c.Pkg() == nil || named.Obj().Pkg() == nil || named.Obj().Pkg().Path() == "time" {
		return ""
	}
	var all []*types.Const
	for _, name := range c.Pkg().Scope().Names() {
		other, ok := c.Pkg().Scope().Lookup(name).(*types.Const)
		if ok && types.Identical(other.Type(), c.Type()) && (other.Exported() || c.Pkg() == m.types) {
			all = append(all, other)
		}
	}
	slices.SortFunc(all, func(a, b *types.Const) int { return int(a.Pos() - b.Pos()) })
	at := slices.Index(all, c)
	if at < 0 || len(all) < 2 {
		return ""
	}
	next := all[(at+1)%len(all)].Name()
	if c.Pkg() != m.types {
		next = c.Pkg().Name() + "." + next
	}
	return next
}

// typeName is how the file writes a type that is basic, of the package, or time.Duration.
func (m *mutator) typeName(t types.Type) (string, bool) {
	switch t := types.Unalias(t).(type) {
	case *types.Basic:
		return types.Default(t).String(), true
	case *types.Named:
		if t.Obj().Pkg() == m.types && t.TypeArgs() == nil && t.Obj().Parent() == m.types.Scope() {
			return t.Obj().Name(), true
		}
		if t.String() == "time.Duration" {
			return t.String(), true
		}
	}
	return "", false
}

// field: another field of the same type is read.
func (m *mutator) field(e *ast.SelectorExpr) {
	selection := m.info.Selections[e]
	if selection == nil || selection.Kind() != types.FieldVal || m.calls(e.X) || strings.Contains(m.text(e), "\n") || m.written(e) {
		return
	}
	// At its beginning a step's New is its Old, which is nearly everywhere that one of them is read.
	if next := m.sibling(selection); next != "" && next != "New" && next != "Old" {
		m.add(e, "field "+next, "mutantPick(%d, ", ", "+m.text(e.X)+"."+next+")")
	}
}

// sibling is the field behind the one that is selected, of the same struct and type, by its short name.
func (m *mutator) sibling(s *types.Selection) string {
	t := s.Recv()
	for i, at := range s.Index() {
		if p, ok := t.Underlying().(*types.Pointer); ok {
			t = p.Elem()
		}
		of, ok := t.Underlying().(*types.Struct)
		if !ok {
			return ""
		}
		if i < len(s.Index())-1 {
			t = of.Field(at).Type()
			continue
		}
		for step := 1; step < of.NumFields(); step++ {
			other := of.Field((at + step) % of.NumFields())
			found, _, _ := types.LookupFieldOrMethod(s.Recv(), true, m.types, other.Name())
			if types.Identical(other.Type(), s.Obj().Type()) && found == other {
				return other.Name()
			}
		}
	}
	return ""
}

// written: the place of e is needed, and not only its value.
func (m *mutator) written(e ast.Expr) bool {
	var child ast.Node = e
	for up := 1; ; up++ {
		switch parent := m.parent(up).(type) {
		case *ast.SelectorExpr:
			if s := m.info.Selections[parent]; s != nil && s.Kind() == types.MethodVal {
				sig := s.Obj().Type().(*types.Signature)
				_, byPointer := sig.Recv().Type().(*types.Pointer)
				_, isPointer := m.info.Types[child.(ast.Expr)].Type.Underlying().(*types.Pointer)
				return byPointer && !isPointer
			}
		case *ast.IndexExpr:
			if parent.X != child {
				return false
			}
		case *ast.SliceExpr:
			_, isArray := m.info.Types[child.(ast.Expr)].Type.Underlying().(*types.Array)
			return isArray
		case *ast.ParenExpr, *ast.StarExpr:
		case *ast.UnaryExpr:
			return parent.Op == token.AND
		case *ast.AssignStmt:
			return slices.Contains(parent.Lhs, child.(ast.Expr))
		case *ast.IncDecStmt:
			return true
		case *ast.RangeStmt:
			return parent.Key == child || parent.Value == child
		default:
			return false
		}
		child = m.parent(up)
	}
}

// literal swaps the values of two fields of one type, of those that a literal names.
func (m *mutator) literal(e *ast.CompositeLit) bool {
	of, ok := m.info.Types[e].Type.Underlying().(*types.Struct)
	if !ok {
		return true
	}
	byType := map[string][]ast.Expr{}
	for _, el := range e.Elts {
		kv, ok := el.(*ast.KeyValueExpr)
		if !ok {
			return true
		}
		name := kv.Key.(*ast.Ident).Name
		for field := range of.Fields() {
			if field.Name() == name && !m.calls(kv.Value) && !strings.Contains(m.text(kv.Value), "\n") {
				byType[field.Type().String()] = append(byType[field.Type().String()], kv.Value)
			}
		}
	}
	for _, el := range e.Elts {
		value := el.(*ast.KeyValueExpr).Value
		for _, group := range byType {
			if i := slices.Index(group, value); i > 0 {
				t, ok := m.typeName(m.info.Types[value].Type)
				if ok && m.info.Types[value].Value == nil {
					m.add(value, "instead "+m.text(group[i-1]), "mutantPick["+t+"](%d, ", ", "+m.text(group[i-1])+")")
				}
			}
		}
	}
	return true
}
