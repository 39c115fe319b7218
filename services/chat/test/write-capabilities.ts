import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { begin, capabilityTable, end } from './capability-table.ts';

/** Run by `make gen`: writes the table of what models of other APIs are asked for. */
const page = path.join(import.meta.dirname, '../../../docs/tenants/dialects.md');

const [before, rest] = readFileSync(page, 'utf8').split(begin);
const after = rest?.split(end)[1];
if (before === undefined || after === undefined) throw new Error(`${page} has no markers for the table`);
const whole = `${before}${begin}\n\n${await capabilityTable()}\n\n${end}${after}`;
writeFileSync(page, whole);
