package serve

import (
	"net"
	"os"

	"github.com/indusagi/indus/cmd/indus/internal/show"
)

// States of the protocol of sd_notify(3).
const (
	serviceReady    = "READY=1"
	serviceStopping = "STOPPING=1"
)

// notifyService sends a state to the service manager that started this process with a socket for it, such as systemd
// with Type=notify. Without a socket it does nothing.
func notifyService(state string, s show.Streams) {
	socket := os.Getenv("NOTIFY_SOCKET")
	if socket == "" {
		return
	}
	c, err := net.Dial("unixgram", socket) // a leading @ stands for an abstract address
	if err == nil {
		defer c.Close()
		_, err = c.Write([]byte(state))
	}
	if err != nil {
		s.Reportf("the service manager does not get %s: %v; its NOTIFY_SOCKET must be a datagram socket", state, err)
	}
}
