import { runCommand } from '@gatehouse/kit/command';
import { createLogger } from '@gatehouse/kit/log';
import { missingSecrets } from '@gatehouse/secrets/installation-secrets';
import { loadCommand, partsOf, type Command } from './config.ts';
import { KubernetesSecret } from './kubernetes-secret.ts';

/** The setup step of the chart: `secrets` creates the shared secrets of the services, `remove-secrets` deletes them. */
async function run(command: Command): Promise<void> {
  const log = createLogger('setup', 'info');
  const secret = new KubernetesSecret(command.config);
  const { SECRET_NAME: name } = command.config;
  switch (command.name) {
    case 'secrets': {
      const parts = partsOf(command.config);
      const added = await secret.add((known) => missingSecrets(parts, known));
      log.info(
        { secret: name, added },
        added.length === 0 ? 'no entries were missing' : 'added missing entries',
      );
      break;
    }
    case 'remove-secrets':
      await secret.remove();
      log.info({ secret: name }, 'removed the secret');
  }
}

await runCommand(async () => run(loadCommand(process.argv[2], process.env)));
