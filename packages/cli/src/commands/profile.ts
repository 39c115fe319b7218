import type { Command } from 'commander';
import type { Context, SharedOptions } from '../context.ts';
import { addShared } from '../resource-commands.ts';

/** `profile list` and `profile use`. */
export function addProfile(program: Command, context: Context): void {
  const profile = program.command('profile').description('the gateways that you are logged in to');

  addShared(profile.command('list'))
    .description('the profiles, with the active one marked')
    .addHelpText('after', '\nExample:\n  gatehouse profile list\n')
    .action(async (options: SharedOptions) => {
      const { current, profiles } = await context.profiles.list();
      const data = profiles.map(({ name, url, device }) => ({
        name,
        url,
        active: name === current,
        key_expires_at: device?.until ?? null,
      }));
      context.output(options).answer({ data }, ['name', 'url', 'active', 'key_expires_at']);
    });

  addShared(profile.command('use'))
    .description('make a profile the active one, which commands use without --profile')
    .argument('<name>')
    .addHelpText('after', '\nExample:\n  gatehouse profile use production\n')
    .action(async (name: string, options: SharedOptions) => {
      const { url } = await context.profiles.use(name);
      const output = context.output(options);
      if (output.isData) output.data({ profile: name, url });
      else output.line(`The active profile is "${name}" (${url}).`);
    });
}
