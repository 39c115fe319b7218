import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { begin, end, factsTable } from './facts-table.ts';

/** Run by `make gen`: writes the table of what is known of models by their names. */
const page = path.join(import.meta.dirname, '../../../docs/operators/models.md');

const [before, rest] = readFileSync(page, 'utf8').split(begin);
const after = rest?.split(end)[1];
if (before === undefined || after === undefined) throw new Error(`${page} has no markers for the table`);
writeFileSync(page, `${before}${begin}\n\n${factsTable()}\n\n${end}${after}`);
