//go:build !unix

package toolbox_test

import "errors"

func mkfifo(string) error { return errors.ErrUnsupported }
