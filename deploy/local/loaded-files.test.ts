import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { services } from '@gatehouse/contract/services';
import { LoadedFiles } from './loaded-files.ts';
import { repositoryRoot } from './settings.ts';

function loads(service: string, file: string): boolean {
  return new LoadedFiles(service).includeAnyOf([path.join(repositoryRoot, file)]);
}

describe('the files that a service loads', () => {
  it.each(services)('are at least what $name starts with', ({ name }) => {
    expect(loads(name, `services/${name}/src/main.ts`)).toBe(true);
    expect(loads(name, `services/${name}/src/config.ts`)).toBe(true);
    expect(loads(name, `services/${name}/src/service.ts`)).toBe(true);
    expect(loads(name, 'packages/kit/src/errors.ts')).toBe(true);
  });

  it.each([
    ...['tenant', 'agent', 'memory', 'chat'].map((name) => [name, name]),
    ...[
      ['analytics', 'participant'],
      ['webhook', 'events'],
    ],
  ])('include what is generated for %s of the protocol %s', (name = '', protocol = '') => {
    expect(loads(name, `proto/gen/gatehouse/${protocol}/v1/${protocol}.ts`)).toBe(true);
  });

  it('include migrations, also new ones', () => {
    expect(loads('chat', 'services/chat/migrations/9999_new.sql')).toBe(true);
    expect(loads('agent', 'services/chat/migrations/9999_new.sql')).toBe(false);
  });

  it('leave out other services, what a service does not import, and tests', () => {
    expect(loads('edge', 'services/chat/src/service.ts')).toBe(false);
    expect(loads('edge', 'packages/pg/src/pool.ts')).toBe(false);
    expect(loads('chat', 'packages/pg/src/pool.ts')).toBe(true);
    expect(loads('chat', 'packages/kit/src/errors.test.ts')).toBe(false);
  });
});
