package attack

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/indusagi/indus/internal/box"
)

// The environment of the started program: the scene, and the single attack of a program that may crash.
const (
	sceneVariable  = "INDUS_ATTACK_SCENE"
	singleVariable = "INDUS_ATTACK_SINGLE"
)

// secretText is the content of everything that an attack must not read.
const secretText = "the-secret-of-the-scene"

// scene is what stands outside of the sandbox.
type scene struct {
	Outside   string // a directory
	Secret    string // a file in it
	Readable  string // a file that the sandbox may read and not write
	Home      string // the home of another server
	Victim    int    // a process of the same user
	Parent    int    // the process that has started the sandbox
	TCP, UDP  int    // ports of loopback
	Socket    string // a Unix stream socket by path
	Datagrams string // a Unix datagram socket by path
	Abstract  string // the name of an abstract Unix socket
	Shared    int    // the key of shared memory
}

// answerLine is a line of the program inside.
type answerLine struct{ Name, Detail string }

// Run attacks from the inside of b, and returns a result for each row of Table. self is this program with the
// arguments that make it call Inside. Run sets b's Home, Read and Limits.Files. If we are root, b has a User, as a
// number.
func Run(self []string, b *box.Box) ([]Result, error) {
	return runBy(self, b, (*box.Box).Start)
}

// runBy starts the program inside by start.
func runBy(self []string, b *box.Box, start func(*box.Box, string, []string, *os.ProcAttr) (*os.Process, error)) (
	[]Result, error) {
	dir, err := os.MkdirTemp("", "indus-attack-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	built, err := newStage(dir, self[0], b)
	if err != nil {
		return nil, err
	}
	defer built.close()
	inside := *b
	inside.Home = filepath.Join(dir, "home")
	inside.Read = []string{built.scene.Readable}
	inside.Limits.Files = filesLimit
	text, err := json.Marshal(built.scene)
	if err != nil {
		return nil, err
	}
	out, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer out.Close()
	env := append(os.Environ(), sceneVariable+"="+string(text))
	child, err := start(&inside, filepath.Join(dir, "program"), self, &os.ProcAttr{
		Dir: "/", Env: env, Files: []*os.File{nil, w, os.Stderr}, Sys: &syscall.SysProcAttr{Setpgid: true},
	})
	w.Close()
	if err != nil {
		return nil, err
	}
	found := map[string]answerLine{}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var line answerLine
		if json.Unmarshal(lines.Bytes(), &line) == nil {
			found[line.Name] = line
		}
	}
	_ = syscall.Kill(-child.Pid, syscall.SIGKILL)
	_, _ = child.Wait()
	var results []Result
	for _, a := range Table(b.Support()) {
		line, ok := found[a.Name]
		if !ok {
			return nil, fmt.Errorf("the program in the sandbox ended before the attack %s", a.Name)
		}
		if a.Name == "signal-parent" && b.User != "" {
			a.Expect = Denied // root's processes take no signals of other users
		}
		r := Result{Attack: a, Outcome: Denied, Detail: line.Detail}
		if line.Detail == "" {
			r.Outcome = Reached
		}
		results = append(results, r)
	}
	return results, nil
}

// Inside runs all attacks and writes the results to w, for Run.
func Inside(w io.Writer) {
	var s scene
	if json.Unmarshal([]byte(os.Getenv(sceneVariable)), &s) != nil {
		return
	}
	single := os.Getenv(singleVariable)
	encoder := json.NewEncoder(w)
	for _, a := range attacks(box.Support{}) {
		if single != "" && a.Name != single {
			continue
		}
		line := answerLine{Name: a.Name}
		if err := a.try(&s); err != nil {
			line.Detail = strings.ReplaceAll(err.Error(), "\n", " ")
			if line.Detail == "" {
				line.Detail = "an error"
			}
		}
		_ = encoder.Encode(line)
	}
}

// stage is a scene with the sockets and processes that stand behind it.
type stage struct {
	scene   scene
	cleanup []func()
}

func (s *stage) close() {
	for _, do := range slices.Backward(s.cleanup) {
		do()
	}
}

// newStage builds a scene that the user of the sandbox could reach without it.
func newStage(dir, self string, b *box.Box) (s *stage, err error) {
	s = &stage{}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	outside := filepath.Join(dir, "outside")
	s.scene = scene{
		Outside: outside, Secret: filepath.Join(outside, "secret"), Readable: filepath.Join(dir, "readable"),
		Home: filepath.Join(dir, "neighbour"), Socket: filepath.Join(outside, "stream"),
		Datagrams: filepath.Join(outside, "datagrams"), Abstract: "@" + filepath.Base(dir), Parent: os.Getpid(),
	}
	uid, gid := os.Geteuid(), os.Getegid()
	if b.User != "" {
		if uid, err = strconv.Atoi(b.User); err != nil {
			return s, fmt.Errorf("the user of an attack is a number: %w", err)
		}
		gid = uid
	}
	steps := []func() error{
		func() error { return os.Mkdir(outside, 0o755) },
		func() error { return os.Mkdir(s.scene.Home, 0o755) },
		func() error { return os.WriteFile(s.scene.Secret, []byte(secretText), 0o644) },
		func() error { return os.WriteFile(s.scene.Readable, []byte(secretText), 0o644) },
		func() error { return copyProgram("/bin/true", filepath.Join(outside, "true")) },
		func() error { return copyProgram(self, filepath.Join(dir, "program")) }, // another user may not find self
		func() error { return s.sockets() },
		func() error { return s.share() },
		func() error { return s.inherit() },
		func() error { return s.victim(uid, gid) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return s, err
		}
	}
	return s, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err == nil {
			err = os.Lchown(path, uid, gid)
		}
		return err
	})
}

func copyProgram(from, to string) error {
	program, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, program, 0o755)
}

// sockets opens servers that answer with the secret.
func (s *stage) sockets() error {
	listeners := map[string]string{"tcp": "127.0.0.1:0", "unix": s.scene.Socket, "unix abstract": s.scene.Abstract}
	for network, address := range listeners {
		l, err := net.Listen(strings.Fields(network)[0], address)
		if err != nil {
			return err
		}
		s.cleanup = append(s.cleanup, func() { l.Close() })
		if tcp, ok := l.Addr().(*net.TCPAddr); ok {
			s.scene.TCP = tcp.Port
		}
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = io.WriteString(c, secretText)
				c.Close()
			}
		}()
	}
	for network, address := range map[string]string{"udp": "127.0.0.1:0", "unixgram": s.scene.Datagrams} {
		c, err := net.ListenPacket(network, address)
		if err != nil {
			return err
		}
		s.cleanup = append(s.cleanup, func() { c.Close() })
		if udp, ok := c.LocalAddr().(*net.UDPAddr); ok {
			s.scene.UDP = udp.Port
		}
		go func() {
			buf := make([]byte, 64)
			for {
				_, from, err := c.ReadFrom(buf)
				if err != nil {
					return
				}
				_, _ = c.WriteTo([]byte(secretText), from)
			}
		}()
	}
	return nil
}

// share creates shared memory that every process of the machine may read.
func (s *stage) share() error {
	s.scene.Shared = 0x1d000000 | os.Getpid()&0xffffff
	id, err := unix.SysvShmGet(s.scene.Shared, 4096, unix.IPC_CREAT|0o666)
	if err != nil {
		return err
	}
	s.cleanup = append(s.cleanup, func() { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) })
	return nil
}

// inherit opens the secret without the flag that closes it in children.
func (s *stage) inherit() error {
	fd, err := unix.Open(s.scene.Secret, unix.O_RDONLY, 0) //nolint:gosec // this is the attack
	if err != nil {
		return err
	}
	s.cleanup = append(s.cleanup, func() { unix.Close(fd) })
	return nil
}

// victim starts a process of the same user that is not confined.
func (s *stage) victim(uid, gid int) error {
	sys := &syscall.SysProcAttr{}
	if uid != os.Geteuid() {
		sys.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	child, err := os.StartProcess("/bin/sleep", []string{"sleep", "600"}, &os.ProcAttr{
		Dir: "/", Env: []string{"SECRET=" + secretText}, Sys: sys,
	})
	if err != nil {
		return err
	}
	s.cleanup = append(s.cleanup, func() { _ = child.Kill(); _, _ = child.Wait() })
	s.scene.Victim = child.Pid
	return nil
}
