import type { Command } from 'commander';
import type { Context, SharedOptions } from '../context.ts';
import { readAll } from '../inputs.ts';
import { checkedProfile } from '../profiles.ts';
import { addShared } from '../resource-commands.ts';
import { UsageError } from '../usage-error.ts';

interface Whoami {
  key_id: string;
  role: string;
  tenant_id: string | null;
  scopes: string[];
}

/** `login`, `logout`, `whoami`. */
export function addLogin(program: Command, context: Context): void {
  addShared(program.command('login'))
    .description('keep the address of a gateway and a key for it')
    .requiredOption(
      '--url <url>',
      'such as https://gatehouse.example.com',
      context.surroundings.environment['GATEHOUSE_URL'],
    )
    .requiredOption(
      '--key <key>',
      'an API key; - reads it from standard input, where no list of processes shows it',
    )
    .addHelpText(
      'after',
      '\nExample:\n  pass gatehouse | gatehouse login --url https://gatehouse.example.com --key -\n',
    )
    .action(async (options: SharedOptions & { url: string; key: string }) => {
      const key = options.key === '-' ? (await readAll(context.surroundings.stdin)).trim() : options.key;
      const profile = checkedProfile({ url: options.url, key });
      const who = await context.clientOf(profile).json<Whoami>({ method: 'GET', path: '/v1/whoami' });
      const name = await context.profiles.keep(options.profile, profile);
      if (options.json === true) context.output(options).answer({ profile: name, ...who });
      else
        context
          .output(options)
          .line(
            `Logged in to ${profile.url} as ${who.role}${who.tenant_id === null ? '' : ` of tenant ${who.tenant_id}`} (profile "${name}").`,
          );
    });

  addShared(program.command('logout'))
    .description('forget the address and the key of a profile; the key itself stays valid')
    .action(async (options: SharedOptions) => {
      const removed = await context.profiles.remove(options.profile);
      if (removed === undefined) throw new UsageError('There is no such profile.');
      context.output(options).answer({ profile: removed, removed: true });
    });

  addShared(program.command('whoami'))
    .description('the key in use, its role, tenant and scopes')
    .action(async (options: SharedOptions) => {
      const client = await context.client(options);
      context.output(options).answer(await client.json({ method: 'GET', path: '/v1/whoami' }));
    });
}
