import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type { ClusterSettings } from './settings.ts';
import { workloadsOf } from './workloads.ts';

const run = promisify(execFile);

const root = path.join(import.meta.dirname, '../..');
const limits = { cwd: root, timeout: 1_800_000, maxBuffer: 64 * 1024 * 1024 };

/** A file of a service's `migrations/`. */
export interface Migration {
  /** Without `.sql`. */
  name: string;
  sql: string;
}

/** Builds the images that an installation needs under a tag, and has them loaded, as `make images` does. */
export async function buildImages(settings: ClusterSettings, tag: string): Promise<void> {
  const names = { IMAGE_TAG: tag, IMAGE_PREFIX: `${settings.imageRepository}/` };
  const wanted = [...workloadsOf(settings), 'setup'].join(' ');
  const env = { ...process.env, ...names, SERVICES: wanted };
  await run('bash', ['deploy/images.sh'], { ...limits, env });
}

/** An image of chat with more migrations, as a release after this one may have; under a tag of its own. */
export async function buildChatWith(
  settings: ClusterSettings,
  tag: string,
  migrations: readonly Migration[],
): Promise<void> {
  const { imageRepository, imageTag } = settings;
  const folder = await mkdtemp(path.join(tmpdir(), 'gatehouse-image-'));
  try {
    for (const { name, sql } of migrations)
      await writeFile(path.join(folder, `${name}.sql`), sql, { mode: 0o644 });
    const dockerfile = path.join(folder, 'Dockerfile');
    await writeFile(dockerfile, `FROM ${imageRepository}/chat:${imageTag}\nCOPY *.sql migrations/\n`);
    await run('bash', ['deploy/image.sh', `${imageRepository}/chat:${tag}`, dockerfile, folder], limits);
  } finally {
    await rm(folder, { recursive: true });
  }
}
