// Command platforms checks that all packages of a module, their tests and all their imports build for other
// systems, without building them: it type-checks the source files of each system. It does not find later
// errors of a compiler or linker, such as a function without a body or a fault in assembly.
//
//	platforms DIR GOOS...
package main

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/tools/go/packages"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: platforms DIR GOOS...")
		os.Exit(2)
	}
	failed := false
	for _, goos := range os.Args[2:] {
		if err := check(os.Args[1], goos); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", goos, err)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}

// check reads all packages from source, so that no compiled packages for another system are needed.
func check(dir, goos string) error {
	pkgs, err := packages.Load(&packages.Config{
		Dir:   dir,
		Env:   append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0"),
		Tests: true,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedEmbedFiles |
			packages.NeedImports | packages.NeedDeps | packages.NeedTypes | packages.NeedTypesSizes |
			packages.NeedSyntax | packages.NeedModule,
	}, "./...")
	if err != nil {
		return err
	}
	if len(pkgs) == 0 {
		return errors.New("no packages")
	}
	if n := packages.PrintErrors(pkgs); n > 0 {
		return fmt.Errorf("%d errors", n)
	}
	return nil
}
