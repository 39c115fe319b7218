import { existsSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { services } from './services.ts';
import { repositoryRoot } from './settings.ts';
import { sourceFolders } from './source-folders.ts';

function relative(service: string): string[] {
  return sourceFolders(service).map((folder) => path.relative(repositoryRoot, folder));
}

describe('the folders that a service loads code from', () => {
  it('include packages that only another package depends on', () => {
    expect(relative('edge')).toEqual(
      expect.arrayContaining(['services/edge/src', 'packages/contract/src', 'proto/gen']),
    );
    expect(relative('analytics')).toContain('packages/secrets/src');
  });

  it('leave out other services and packages that it does not use', () => {
    expect(relative('edge')).not.toContain('packages/events/src');
    expect(relative('edge').filter((folder) => folder.startsWith('services/'))).toEqual([
      'services/edge/src',
      'services/edge/migrations',
    ]);
  });

  it.each(services)('exist for $name, apart from migrations of a service without a database', (service) => {
    const missing = sourceFolders(service.name).filter((folder) => !existsSync(folder));
    expect(missing.map((folder) => path.basename(folder))).toEqual(service.database ? [] : ['migrations']);
  });
});
