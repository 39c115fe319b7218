import { expect, it } from '@jest/globals';
import { chooseTests } from './choose.ts';

const all = [
  'packages/kit/src/csv.test.ts',
  'services/chat/src/providers/choice.test.ts',
  'services/chat/test/answers.test.ts',
  'services/tenant/test/keys.test.ts',
  'test/chaos/limits.test.ts',
  'test/e2e/docs.test.ts',
  'test/e2e/models.test.ts',
  'test/e2e/one-gateway.test.ts',
  'test/e2e/upgrade.test.ts',
];

/** Chooses where a file of a service reaches the tests of that service and of systems, and others reach all. */
function choose(...changed: string[]): { files: readonly string[]; notes: readonly string[] } {
  const reaches = (file: string, test: string): boolean => {
    const [folder] = /^services\/\w+\//.exec(file) ?? [''];
    return test.startsWith(folder) || test.startsWith('test/');
  };
  return chooseTests(changed, {
    all,
    related: (files) =>
      all.filter((test) =>
        files.some((file) => (file.endsWith('.test.ts') ? file === test : reaches(file, test))),
      ),
    workspaceCode: (folder) => [`${folder}src/service.ts`],
  });
}

const ofChat = ['services/chat/src/providers/choice.test.ts', 'services/chat/test/answers.test.ts'];
const ofSystems = ['test/e2e/models.test.ts', 'test/e2e/one-gateway.test.ts'];

it('a file of a service is tested by its service and its tests of systems, without chaos', () => {
  expect(choose('services/chat/src/providers/choice.ts').files).toEqual([...ofChat, ...ofSystems]);
});

it('a migration is tested by the whole service, and as an upgrade', () => {
  const files = [...ofChat, ...ofSystems, 'test/e2e/upgrade.test.ts'];
  expect(choose('services/chat/migrations/0009_more.sql').files).toEqual(files);
});

it('a file of a package is tested by each service that it reaches', () => {
  const reached = all.filter((file) => !/chaos|docs|upgrade/.test(file));
  expect(choose('packages/kit/src/csv.ts').files).toEqual(reached);
});

it('a shape of the contract is tested by packages, and by the services that change with it', () => {
  const contract = 'packages/contract/src/agents.ts';
  expect(choose(contract).files).toEqual(['packages/kit/src/csv.test.ts', 'test/e2e/one-gateway.test.ts']);
  expect(choose(contract, 'services/chat/src/service.ts').files).toEqual([
    'packages/kit/src/csv.test.ts',
    ...ofChat,
    ...ofSystems,
  ]);
});

it('a test runs when it changes, whichever it is', () => {
  expect(choose('test/chaos/limits.test.ts').files).toEqual(['test/chaos/limits.test.ts']);
});

it('a page for tenants is tested by its examples alone', () => {
  expect(choose('docs/tenants/errors.md').files).toEqual(['test/e2e/docs.test.ts']);
});

it('says what it does not cover', () => {
  expect(choose('package-lock.json').notes).toEqual(['make test']);
  expect(choose('charts/gatehouse/values.yaml').notes).toEqual(['make test-outside']);
});
