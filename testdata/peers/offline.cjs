// Preloaded into servers of tests: the name of another machine has no address, so that none is asked.
const dns = require('node:dns');

const lookup = dns.lookup;
dns.lookup = (name, options, callback) => {
  if (name === 'localhost') {
    return lookup(name, options, callback);
  }
  return process.nextTick(callback ?? options, new Error(`the test is offline: ${name}`));
};
