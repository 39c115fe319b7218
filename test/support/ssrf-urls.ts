/** URLs of what is inside, in every spelling: `PORT` stands for a port there. Only 127.0.0.2 is thought to be allowed. */

const hosts = [
  ...[
    '127.0.0.1',
    '127.1',
    '127.0.1',
    '2130706433',
    '0x7f.0.0.1',
    '0x7f000001',
    '017700000001',
    '0',
    '0.0.0.0',
  ],
  ...['127.0.0.3', '127.255.255.254', '[::1]', '[::]', '[0:0:0:0:0:0:0:1]', '[::ffff:127.0.0.1]'],
  ...['[::ffff:7f00:1]', '[::127.0.0.1]', '[64:ff9b::7f00:1]', '[2002:7f00:1::]', '[fe80::1]', '[fd00::1]'],
  ...['10.0.0.1', '172.16.0.1', '192.168.0.1', '100.64.0.1', '169.254.169.254', '192.0.0.192'],
  ...['198.18.0.1', '192.0.2.1', '224.0.0.1', '255.255.255.255', '240.0.0.1'],
  ...[
    'localhost',
    'LOCALHOST.',
    'a.localhost',
    'metadata.google.internal',
    'kubernetes.default.svc.cluster.local',
  ],
  ...['１２７.０.０.１', '127。0。0。1', '①②⑦.0.0.1'],
];
export const insideUrls = hosts.flatMap((host) => [`https://${host}:PORT/x`, `http://${host}:PORT/x`]);
const others = [
  ...[
    'https://user@127.0.0.2/',
    'https://127.0.0.2@127.0.0.1:PORT/',
    'ftp://127.0.0.2/',
    'file:///etc/passwd',
  ],
  ...[
    'gopher://127.0.0.1:PORT/_x',
    '//127.0.0.1:PORT/',
    'https:127.0.0.1:PORT',
    'https:\\\\127.0.0.1:PORT\\x',
  ],
];
/** With those that are wrong in other ways, too. */
export const refusedUrls = [...insideUrls, ...others];
