import { CredentialsFile } from './credentials.ts';
import { makeLoginLink } from './login-link.ts';
import { runningDatabase } from './running-system.ts';
import { loadSecrets } from './secrets.ts';
import { loadSettings } from './settings.ts';
import { runLocalCommand, StartError } from './start-error.ts';

/** `make login`: prints a link that logs a browser in once, within a minute, at the running `make up`. */
await runLocalCommand(async () => {
  const { stateFolder } = loadSettings(process.env);
  const { adminUrl } = await runningDatabase(stateFolder);
  const { url, admin_key: key } = await new CredentialsFile(stateFolder).read();
  if (url === undefined || key === undefined)
    throw new StartError(
      `${stateFolder}/credentials.json has no admin key yet: wait until "make up" is ready.`,
    );
  const { databasePasswords: passwords } = await loadSecrets(stateFolder, []);
  const credentials = { url, admin_key: key };
  const link = await makeLoginLink(credentials, { database: { adminUrl, passwords }, caller: process.env });
  process.stdout.write(`log in, once and within a minute: ${link}\n`);
});
