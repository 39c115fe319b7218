import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Client } from 'pg';
import { storeFiles } from '../../lint/store-files.ts';
import { migratedServices } from '../support/migrated-template.ts';
import { fullRecord, partialRecord, type StatementSample } from '../support/statement-record.ts';
import { accepted, sentElsewhere, type Accepted } from './accepted.ts';
import { arraysOf, explain, hasPlan, readCatalogue, type ExplainOptions } from './explain.ts';
import { withGround } from './ground-database.ts';
import { comparison, problemsOf, untilLimit, type Catalogue } from './judge.ts';
import { beginsWith, literalsOf, matches, normalised, type Literal } from './literals.ts';

/**
 * `make test-statements`: explains each statement of the stores that `make test` has recorded, in a database with the
 * rows of 3,000 tenants, and reports SQL that no test has sent. With `--partial`, reads what single test files have
 * recorded.
 */

const root = path.join(import.meta.dirname, '../..');

/** A literal of a store, with the statements that begin with it. */
interface StoreLiteral extends Literal {
  file: string;
}

interface Problem {
  literal: StoreLiteral;
  statement: string;
  problem: string;
}

async function storeLiterals(): Promise<StoreLiteral[]> {
  const files = storeFiles(root).map(async (file) => ({
    file,
    source: await readFile(path.join(root, file), 'utf8'),
  }));
  return (await Promise.all(files)).flatMap(({ file, source }) =>
    literalsOf(source).map((literal) => ({ ...literal, file })),
  );
}

/** Explains each sample of a store. */
async function problemsIn(
  client: Client,
  samples: readonly StatementSample[],
  literals: readonly StoreLiteral[],
): Promise<{ explained: number; problems: Problem[] }> {
  const catalogue = await readCatalogue(client);
  const problems: Problem[] = [];
  const explained = new Set<string>();
  for (const sample of samples.filter(({ text }) => hasPlan(text))) {
    const statement = normalised(sample.text);
    const own = closest(
      literals.filter((literal) => isOf(literal, sample) && beginsWith(literal, statement)),
    );
    if (own.length === 0) continue;
    explained.add(`${sample.role} ${statement}`);
    const add = (problem: string): void => {
      problems.push(...own.map((literal) => ({ literal, statement, problem })));
    };
    try {
      (await problemsOfSample(client, sample, catalogue)).forEach(add);
    } catch (error) {
      add(`can't be explained: ${(error as Error).message}`);
    }
  }
  return { explained: explained.size, problems };
}

/** Whether a role may send what a file has: a service its own stores and those of packages. */
const isOf = ({ file }: StoreLiteral, { role }: StatementSample): boolean =>
  file.startsWith('packages/') || file.startsWith(`services/${role.replace(/_.*/, '')}/`);

/** Those that have most of a statement: other ones have little more than substitutions. */
function closest(literals: readonly StoreLiteral[]): StoreLiteral[] {
  const lengthOf = ({ pieces }: Literal): number => pieces.join('').length;
  const most = Math.max(...literals.map(lengthOf));
  return literals.filter((literal) => lengthOf(literal) === most);
}

async function problemsOfSample(
  client: Client,
  sample: StatementSample,
  catalogue: Catalogue,
): Promise<string[]> {
  const judge = async (options: ExplainOptions): Promise<string[]> =>
    problemsOf(await explain(client, sample, options), catalogue);
  const found = await judge({});
  // Large arrays make it cheaper to read the ground's tables whole, so those are judged by comparisons alone.
  const arrays = arraysOf(sample);
  const compared = arrays === 'some' ? await judge({ large: true }) : arrays === 'empty' ? [] : found;
  // If an index serves as well, PostgreSQL reads on until a limit only while it expects to find enough at once.
  const unavoidable = found.some((problem) => problem.startsWith(untilLimit))
    ? await judge({ withIndexes: true })
    : [];
  return [
    ...compared.filter((problem) => problem.startsWith(comparison)),
    ...found
      .filter((problem) => !problem.startsWith(comparison))
      .filter((problem) => !problem.startsWith(untilLimit) || unavoidable.includes(problem)),
  ];
}

const isAccepted = ({ literal, statement, problem }: Problem, entry: Accepted): boolean =>
  literal.file === entry.file && statement.startsWith(entry.begins) && problem.startsWith(entry.problem);

const isOfEntry = (literal: StoreLiteral, { file, begins }: { file: string; begins: string }): boolean =>
  literal.file === file && (literal.pieces[0] ?? '').startsWith(begins);

async function main(): Promise<void> {
  const record = process.argv.includes('--partial') ? partialRecord() : fullRecord();
  // Tests of packages have services of their own, whose roles the ground lacks.
  const services = await migratedServices();
  const samples = record.filter(({ role }) => services.includes(role.replace(/_.*/, '')));
  const literals = await storeLiterals();
  const { explained, problems } = await withGround((client) => problemsIn(client, samples, literals));
  const texts = [...new Set(samples.map(({ text }) => normalised(text)))];
  const unsent = literals.filter((literal) => !texts.some((text) => matches(literal, text)));
  const failures = new Set([
    ...problems
      .filter((problem) => !accepted.some((entry) => isAccepted(problem, entry)))
      .map(
        ({ literal: { file, line }, problem, statement }) => `${file}:${line} ${problem}\n    ${statement}`,
      ),
    ...accepted
      .filter((entry) => !problems.some((problem) => isAccepted(problem, entry)))
      .map(
        ({ file, begins, problem }) =>
          `${file}: no statement that begins with "${begins}" ${problem} any more`,
      ),
    ...sentElsewhere
      .filter((entry) => !unsent.some((literal) => isOfEntry(literal, entry)))
      .map(({ file, begins }) => `${file}: a test sends what begins with "${begins}", or it is gone`),
    ...unsent
      .filter((literal) => !sentElsewhere.some((entry) => isOfEntry(literal, entry)))
      .map(({ file, line, pieces }) => `${file}:${line} no test sends it: ${pieces.join(' … ')}`),
  ]);
  for (const failure of failures) process.stdout.write(`${failure}\n`);
  process.stdout.write(`${explained} passed, ${failures.size} failed\n`);
  process.exitCode = failures.size === 0 ? 0 : 1;
}

try {
  await main();
} catch (error) {
  process.stdout.write(`${(error as Error).message}\n0 passed, 1 failed\n`);
  process.exitCode = 1;
}
