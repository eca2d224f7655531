package proc_test

func unreadable() {} // environments can be read only on Linux
