package box

import (
	"fmt"
	"os"
	"slices"

	"github.com/landlock-lsm/go-landlock/landlock"
)

// rights has the rights that each Landlock ABI can limit, from ABI 1 on. They are taken for the number of the kernel:
// go-landlock's BestEffort drops all of Landlock if one rule is too new.
var rights = []landlock.Config{
	landlock.V1, landlock.V2, landlock.V3, landlock.V4, landlock.V5, landlock.V6,
	landlock.V7, landlock.V8, landlock.V9, landlock.V10, landlock.V11,
}

// ruleset opens the Landlock ruleset of a process, with the flags for the kernel. The descriptor is -1 without
// Landlock.
func (k kernel) ruleset(g grants, listen []int) (fd int, flags uint32, err error) {
	if k.abi == 0 {
		return -1, 0, nil
	}
	var rules []landlock.Rule
	for _, path := range g.read {
		rules = append(rules, readRule(path))
	}
	for _, path := range g.write {
		info, err := os.Stat(path)
		if err != nil {
			return -1, 0, fmt.Errorf("sandbox: write: %v", err) // not ErrNotExist: that is about the program
		}
		switch {
		case !info.IsDir():
			rules = append(rules, landlock.RWFiles(path))
		case k.abi >= abiRefer:
			rules = append(rules, landlock.RWDirs(path).WithRefer())
		default:
			rules = append(rules, landlock.RWDirs(path))
		}
	}
	for _, path := range g.devices {
		rules = append(rules, landlock.RWFiles(path).IgnoreIfMissing())
	}
	if k.abi >= abiPorts {
		for _, port := range listen {
			rules = append(rules, landlock.BindTCP(uint16(port)))
		}
	}
	return rights[min(k.abi, len(rights))-1].NewRulesetFD(rules...)
}

// readRule allows to read and execute a path. A path that does not exist allows nothing.
func readRule(path string) landlock.Rule {
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return landlock.ROFiles(path).IgnoreIfMissing()
	}
	return landlock.RODirs(path).IgnoreIfMissing()
}

// readsRoot reports whether the root directory itself can be listed.
func (g grants) readsRoot() bool {
	return slices.Contains(g.read, "/") || slices.Contains(g.write, "/")
}
