package text_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/internal/text"
)

func ExampleNearest() {
	tools := []string{"fs__read_file", "fs__write_file", "git__log"}
	fmt.Println(text.Nearest("fs__raed_file", tools, 3))
	fmt.Println(text.Nearest("file", tools, 3))
	fmt.Println(text.Nearest("weather", tools, 3))
	// Output:
	// [fs__read_file]
	// [fs__read_file fs__write_file]
	// []
}

func TestNearest(t *testing.T) {
	for _, tt := range []struct {
		name       string
		candidates string
		want       string
	}{
		{"comand", "name command args", "command"},
		{"arg", "args url env", "args"},
		{"ENV", "env", "env"},
		{"inherit_env", "env inheritEnv", "inheritEnv"},
		{"timeuot", "timeout", "timeout"},
		{"gihtub", "github gitlab", "github"},
		{"githb", "gitlab github", "github gitlab"},
		{"read", "fs__read_file fs__write_file", "fs__read_file"},
		{"reed", "fs__read_file reads read", "read"},
		{"x", "y z", ""},
		{"", "a", ""},
		{"--", "a", ""},
		{"über", "uber", "uber"},
		{"same", "same same", "same"},
		{"oauth", "name command args env url headers", ""},
		{strings.Repeat("a", 200), strings.Repeat("a", 200), ""},
	} {
		got := text.Nearest(tt.name, strings.Fields(tt.candidates), 3)
		if diff := cmp.Diff(strings.Fields(tt.want), append([]string{}, got...)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", tt.name, diff)
		}
	}
}

func TestNearestReturnsAtMostN(t *testing.T) {
	candidates := []string{"aaaa", "aaab", "aaac"}
	for n := -1; n <= 4; n++ {
		if got := len(text.Nearest("aaaa", candidates, n)); got != max(0, min(n, 3)) {
			t.Errorf("n=%d: %d names", n, got)
		}
	}
}
