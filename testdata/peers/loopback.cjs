// Preloaded into every peer that serves HTTP: they listen on all interfaces and on
// a port of their caller's choice. With this they listen on 127.0.0.1 only, and
// tell which port it became, so that port 0 will do.
const net = require('node:net');

const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (port, ...rest) {
  if (Number.isInteger(Number(port)) && typeof rest[0] !== 'string') {
    rest.unshift('127.0.0.1');
    this.once('listening', () => {
      process.stderr.write(`peer listens on port ${this.address().port}\n`);
    });
  }
  return listen.call(this, port, ...rest);
};
