package proc_test

func unreadable() {} // only Linux has environments to be read
