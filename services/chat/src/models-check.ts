import { runCommand } from '@gatehouse/kit/command';
import { ConfigError } from '@gatehouse/kit/config';
import { CatalogueFile } from './catalogue/catalogue-file.ts';

/** The program `npm run models:check -- FILE`: prints every mistake in a model catalogue, with the variables of the environment. */
await runCommand(async () => {
  const [file] = process.argv.slice(2);
  if (file === undefined) throw new ConfigError('usage: npm run models:check -- FILE');
  await new CatalogueFile(file, process.env).load();
});
