import { once } from 'node:events';
import { attacks, groundOf } from './attacks.ts';
import { HostileServer } from './hostile-server.ts';

/**
 * A tenant that attacks without a pause, in a process of its own: `attacker.ts <url> <key>`. Each message is the name of
 * an attack, or `none`. The answer comes when the attack before has ended, and says how often it was carried out.
 */

const [, , url = '', key = ''] = process.argv;
const server = await HostileServer.start();
const ground = groundOf(url, key, server);
let current = 'none';
let attacking = Promise.resolve(0);

async function attackOn(name: string): Promise<number> {
  const attack = attacks.find((each) => each.name === name);
  let rounds = 0;
  for (; current === name && attack !== undefined; rounds += 1)
    // At a limit of the tenant an attack fails: it goes on.
    await attack.run(ground).catch(() => new Promise((resolve) => setTimeout(resolve, 50)));
  return rounds;
}

process.on('message', (next: string) => {
  current = next;
  const before = attacking;
  attacking = before.then((rounds) => {
    process.send?.(rounds);
    return attackOn(next);
  });
});
process.send?.(0);
await once(process, 'disconnect');
process.exit();
