//go:build !windows

package proc_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/indusagi/indus/internal/proc"
)

func TestEnviron(t *testing.T) {
	parent := []string{
		"USER=me", "PATH=/bin", "HOME=/root", "AWS_SECRET=1", "LC_ALL=C", "LANG=de", "TERM=() { :; }",
		"HOME=/home/me", "nonsense", "", "=", "BASH_FUNC_x%%=() { :; }",
	}
	for _, test := range []struct {
		name          string
		parent, extra []string
		inherit       bool
		want          []string
	}{
		{name: "nothing", want: []string{}},
		{name: "little", parent: parent, want: []string{"HOME=/home/me", "LANG=de", "LC_ALL=C", "PATH=/bin", "USER=me"}},
		{
			name: "extra wins", parent: parent, extra: []string{"PATH=/opt", "KEY=a=b", "KEY=c=d", "EMPTY=", "bad"},
			want: []string{"EMPTY=", "HOME=/home/me", "KEY=c=d", "LANG=de", "LC_ALL=C", "PATH=/opt", "USER=me"},
		},
		{
			name: "all", parent: parent, extra: []string{"LANG=en"}, inherit: true,
			want: []string{
				"AWS_SECRET=1", "BASH_FUNC_x%%=() { :; }", "HOME=/home/me", "LANG=en", "LC_ALL=C", "PATH=/bin",
				"TERM=() { :; }", "USER=me",
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, proc.Environ(test.parent, test.extra, test.inherit)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
