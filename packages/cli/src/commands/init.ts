import { access, chmod, mkdir, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { InvalidArgumentError, type Command } from 'commander';
import type { Context } from '../context.ts';
import { envFileText } from '../init/env-file.ts';
import { modelsFileText } from '../init/models-file.ts';
import { UsageError } from '../usage-error.ts';

interface InitOptions {
  publicUrl?: string;
  port: number;
  force?: boolean;
}

/** `init`. */
export function addInit(program: Command, context: Context): void {
  program
    .command('init')
    .description('write the settings and the model catalogue of a new gateway on this machine')
    .argument('[dir]', 'folder for gatehouse.env and config/models.yaml', '.')
    .option(
      '--public-url <url>',
      'where clients reach it (default: http://localhost with the port)',
      publicUrl,
    )
    .option('--port <port>', 'its port on this machine', port, 8080)
    .option('--force', 'write new files, and rename those that are there')
    .addHelpText(
      'after',
      '\nIts database is the PostgreSQL of compose.yaml, or the one of MIGRATION_DATABASE_URL, a URL with the owner.\n' +
        '\nExamples:\n  gatehouse init\n  gatehouse init /etc/gatehouse --public-url https://gatehouse.example.com\n',
    )
    .action(async (folder: string, options: InitOptions) => {
      const { environment, write } = context.surroundings;
      const databaseUrl = ownerUrl(environment['MIGRATION_DATABASE_URL']);
      const { port: httpPort, publicUrl: url = `http://localhost:${httpPort}` } = options;
      // Containers see this folder alone, and not the secrets beside it.
      const config = path.join(folder, 'config');
      const files = [
        {
          name: path.join(folder, 'gatehouse.env'),
          text: await envFileText({ publicUrl: url, port: httpPort, databaseUrl }),
          mode: 0o600,
        },
        // Without secrets, and the user of a container or a unit reads it.
        { name: path.join(config, 'models.yaml'), text: modelsFileText, mode: 0o644 },
      ];
      const names = files.map(({ name }) => name);
      const present = await existing(names);
      if (present.length > 0 && options.force !== true)
        throw new UsageError(
          `${present.join(' and ')} ${present.length === 1 ? 'exists' : 'exist'} already, and nothing was written. ` +
            `--force renames ${present.length === 1 ? 'it' : 'them'} first: a new key ring can't decrypt what a gateway has stored.`,
        );
      for (const each of [folder, config]) {
        const made = await mkdir(each, { recursive: true });
        if (made !== undefined) await chmod(each, 0o755);
      }
      for (const name of present) await rename(name, `${name}.${timestamp()}`);
      // Never over a file that has appeared meanwhile.
      for (const { name, text, mode } of files) {
        await writeFile(name, text, { mode, flag: 'wx' });
        // The umask of a shell may have taken rights away.
        await chmod(name, mode);
      }
      write(nextSteps(names, databaseUrl === undefined));
    });
}

async function existing(names: readonly string[]): Promise<string[]> {
  const present = await Promise.all(
    names.map((name) =>
      access(name).then(
        () => [name],
        () => [],
      ),
    ),
  );
  return present.flat();
}

function timestamp(): string {
  return new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '');
}

function nextSteps([envFile = '', modelsFile = '']: readonly string[], isComposed: boolean): string {
  const steps = [
    `Put the key of at least one provider into ${envFile}: OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY.`,
    `Look through the models in ${modelsFile}.`,
    isComposed
      ? `Start PostgreSQL and the gateway, beside compose.yaml: docker compose --env-file ${envFile} up --detach --wait`
      : 'Install the units of deploy/systemd, and start the gateway: systemctl enable --now gatehouse',
    'Create the first owner key: docs/operators/one-machine.md',
  ];
  const numbered = steps.map((step, index) => `  ${index + 1}. ${step}\n`).join('');
  return `Wrote ${envFile} (new secrets: keep it private, and back it up) and ${modelsFile}.\n\nNext:\n${numbered}`;
}

function port(text: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= 1 && value <= 65_535) return value;
  throw new InvalidArgumentError('It must be a number from 1 to 65535.');
}

/** An address at which browsers keep the cookies of a session: https, or this machine. */
function publicUrl(text: string): string {
  if (/^(https:\/\/[^/]|http:\/\/(localhost|127\.0\.0\.1|\[::1\])([:/]|$))/.test(text) && URL.canParse(text))
    return text.replace(/\/+$/, '');
  throw new InvalidArgumentError('It must be https, or http on this machine, such as http://localhost:8080.');
}

/** The URL has a password, so no message repeats it. */
function ownerUrl(text: string | undefined): string | undefined {
  if (text === undefined || text === '') return undefined;
  if (/^postgres(ql)?:\/\//.test(text) && URL.canParse(text)) return text;
  throw new UsageError('MIGRATION_DATABASE_URL must be a postgres:// URL with the owner of the database.');
}
