import com.sun.source.tree.*;
import com.sun.source.util.*;
import java.io.*;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.util.*;
import javax.lang.model.element.*;
import javax.tools.*;

/** Prints where javac says that the names in some folders of a checkout are defined: one JSON object a line. */
class Names {
  public static void main(String[] args) throws Exception {
    Path root = Path.of(args[0]).toRealPath();
    List<File> files = new ArrayList<>();
    for (int i = 1; i < args.length; i++)
      try (var walk = Files.walk(root.resolve(args[i]))) {
        walk.filter(p -> p.toString().endsWith(".java") && !p.endsWith("module-info.java")).forEach(p -> files.add(p.toFile()));
      }
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    StandardJavaFileManager manager = compiler.getStandardFileManager(d -> {}, null, StandardCharsets.UTF_8);
    JavacTask task = (JavacTask) compiler.getTask(null, manager, d -> {}, List.of("-proc:none", "-XDshould-stop.ifError=FLOW", "-XDshould-stop.at=FLOW", "-Xmaxerrs", "0"), null, manager.getJavaFileObjectsFromFiles(files));
    Iterable<? extends CompilationUnitTree> units = task.parse();
    task.analyze();
    Trees trees = Trees.instance(task);
    SourcePositions positions = trees.getSourcePositions();
    PrintStream out = new PrintStream(new BufferedOutputStream(System.out), false, StandardCharsets.UTF_8);
    for (CompilationUnitTree unit : units) {
      String text = unit.getSourceFile().getCharContent(true).toString();
      String path = root.relativize(Path.of(unit.getSourceFile().toUri())).toString();
      new TreePathScanner<Void, Void>() {
        void emit(String name, int at, String category) {
          Element element = trees.getElement(getCurrentPath());
          if (element == null || at < 0 || element.getKind() == ElementKind.PACKAGE) return;
          if (element.getKind() == ElementKind.CONSTRUCTOR) element = element.getEnclosingElement();
          TreePath there = trees.getPath(element);
          if (there == null) return;
          CompilationUnitTree other = there.getCompilationUnit();
          int from = (int) positions.getStartPosition(other, there.getLeaf());
          try {
            String body = other.getSourceFile().getCharContent(true).toString();
            int end = (int) positions.getEndPosition(other, there.getLeaf());
            String wanted = element.getSimpleName().toString();
            int found = find(body, wanted, from, end, there.getLeaf(), positions, other);
            if (found < 0) return;
            String target = root.relativize(Path.of(other.getSourceFile().toUri())).toString();
            if (target.equals(path) && found == at) return;
            ElementKind kind = element.getKind();
            boolean local = kind == ElementKind.LOCAL_VARIABLE || kind == ElementKind.PARAMETER || kind == ElementKind.EXCEPTION_PARAMETER || kind == ElementKind.RESOURCE_VARIABLE || kind == ElementKind.BINDING_VARIABLE || kind == ElementKind.TYPE_PARAMETER;
            boolean type = kind.isClass() || kind.isInterface();
            String c = category.equals("import") ? "import statement" : local ? "local name" : type ? "type" : category.equals("attribute") ? "member after a dot" : "member, plain name";
            out.println("{\"file\":\"" + path + "\",\"offset\":" + bytes(text, at) + ",\"name\":\"" + name + "\",\"category\":\"" + c + "\",\"targets\":[[\"" + target + "\"," + bytes(body, found) + "]]}");
          } catch (IOException e) { throw new UncheckedIOException(e); }
        }
        int bytes(String s, int at) { return s.substring(0, at).getBytes(StandardCharsets.UTF_8).length; }
        int find(String body, String name, int from, int end, Tree leaf, SourcePositions p, CompilationUnitTree u) {
          int begin = from;
          Tree modifiers = leaf instanceof ClassTree c ? c.getModifiers() : leaf instanceof MethodTree m ? m.getModifiers() : leaf instanceof VariableTree v ? v.getModifiers() : null;
          if (modifiers != null) { int e = (int) p.getEndPosition(u, modifiers); if (e > begin) begin = e; }
          Tree type = leaf instanceof MethodTree m ? m.getReturnType() : leaf instanceof VariableTree v ? v.getType() : null;
          if (type != null) { int e = (int) p.getEndPosition(u, type); if (e > begin) begin = e; }
          var matcher = java.util.regex.Pattern.compile("(?<![\\w$])" + java.util.regex.Pattern.quote(name) + "(?![\\w$])").matcher(body);
          return matcher.find(begin) && matcher.start() <= end ? matcher.start() : -1;
        }
        @Override public Void visitIdentifier(IdentifierTree node, Void v) {
          if (!node.getName().contentEquals("this") && !node.getName().contentEquals("super")) emit(node.getName().toString(), (int) positions.getStartPosition(unit, node), "plain");
          return super.visitIdentifier(node, v);
        }
        @Override public Void visitMemberSelect(MemberSelectTree node, Void v) {
          int end = (int) positions.getEndPosition(unit, node);
          String name = node.getIdentifier().toString();
          TreePath p = getCurrentPath();
          boolean imported = false;
          for (; p != null; p = p.getParentPath()) imported |= p.getLeaf() instanceof ImportTree;
          if (!name.equals("class") && !name.equals("this") && !name.equals("*") && end > 0) emit(name, text.lastIndexOf(name, end), imported ? "import" : "attribute");
          return super.visitMemberSelect(node, v);
        }
        @Override public Void visitMemberReference(MemberReferenceTree node, Void v) {
          int end = (int) positions.getEndPosition(unit, node);
          String name = node.getName().toString();
          if (!name.equals("<init>") && end > 0) emit(name, text.lastIndexOf(name, end), "attribute");
          return super.visitMemberReference(node, v);
        }
      }.scan(unit, null);
    }
    out.flush();
  }
}
