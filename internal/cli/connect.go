package cli

import (
	"context"

	"github.com/indusagi/indus/interop"
	"github.com/indusagi/indus/schema"
)

// connect mounts servers once, without anybody who would connect them again,
// and waits until each is ready or faulted. On a terminal it shows them live.
func connect(ctx context.Context, servers []interop.Server, p *schema.Profile, s streams) (*interop.Mounted, error) {
	mounted := interop.Mount(ctx, servers, &interop.MountOptions{
		Wait: -1, Budget: -1, Profile: p, Restart: interop.Restart{Off: true}, Logger: s.logger(),
	})
	stop := watchLive(mounted.Fleet, s)
	err := mounted.Fleet.Settle(ctx)
	stop()
	if err != nil {
		mounted.Close()
		return nil, err
	}
	return mounted, nil
}
