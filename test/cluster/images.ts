import { execFile } from 'node:child_process';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type { ClusterSettings } from './settings.ts';

const run = promisify(execFile);

const root = path.join(import.meta.dirname, '../..');
const buildTimeoutMs = 900_000;

/** Builds every service's image under a tag, and has it loaded, by `make images`' own script. */
export async function buildImages(settings: ClusterSettings, tag: string): Promise<void> {
  const environment = { ...process.env, IMAGE_TAG: tag, IMAGE_PREFIX: `${settings.imageRepository}/` };
  await run('bash', [path.join(root, 'deploy/images.sh')], {
    cwd: root,
    // npm in the build belongs to the image; a PATH that begins with the project's tools would be the caller's.
    env: environment,
    timeout: buildTimeoutMs,
    maxBuffer: 64 * 1024 * 1024,
  });
}

/** An image of chat with one migration more, as the release after this one may have; under a tag of its own. */
export async function buildChatWithMigration(
  settings: ClusterSettings,
  tag: string,
  migration: { name: string; sql: string },
): Promise<void> {
  const { imageRepository, imageTag } = settings;
  const folder = await mkdtemp(path.join(tmpdir(), 'gatehouse-image-'));
  try {
    const file = `${migration.name}.sql`;
    await writeFile(path.join(folder, file), migration.sql, { mode: 0o644 });
    const dockerfile = path.join(folder, 'Dockerfile');
    await writeFile(dockerfile, `FROM ${imageRepository}/chat:${imageTag}\nCOPY ${file} migrations/\n`);
    await build(dockerfile, folder, `${imageRepository}/chat:${tag}`);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** IMAGE_BUILD and IMAGE_LOAD, as deploy/images.sh calls them. */
async function build(dockerfile: string, context: string, name: string): Promise<void> {
  const { IMAGE_BUILD: command, IMAGE_LOAD: load, REGISTRY: registry } = process.env;
  const options = { cwd: root, timeout: buildTimeoutMs };
  const { stdout } =
    command === undefined
      ? await run('docker', ['build', '--quiet', '--file', dockerfile, '--tag', name, context], options)
      : await run('bash', ['-c', `${command} "$@"`, 'build', dockerfile, context, name], options);
  const archive = stdout.trim().split('\n').at(-1) ?? '';
  const loaded = (await stat(archive).catch(() => null))?.isFile() === true ? archive : name;
  if (load !== undefined) await run('bash', ['-c', `${load} "$@"`, 'load', loaded], options);
  else if (registry !== undefined)
    await run('bash', [
      '-c',
      'docker tag "$1" "$2" && docker push "$2"',
      'push',
      name,
      `${registry}/${name}`,
    ]);
}
