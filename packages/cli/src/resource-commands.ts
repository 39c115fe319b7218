import { randomUUID } from 'node:crypto';
import { Command, Option } from 'commander';
import type { Context, SharedOptions } from './context.ts';
import { csvPages } from './csv-pages.ts';
import { download, save } from './download.ts';
import { parseYaml, readText } from './inputs.ts';
import type { Operation, Parameter } from './operations.ts';
import { formats } from './output.ts';
import { shortForms } from './short-forms.ts';
import { timeOf } from './times.ts';
import { UsageError } from './usage-error.ts';

/** Verbs of operations better known by another name. */
const verbs: Record<string, string> = { patch: 'update' };

/** Columns of lists with more members than a terminal shows. */
const columns: Record<string, readonly string[]> = {
  'traces.list': [
    'started_at',
    'status',
    'name',
    'agent_key',
    'api_key_name',
    'cost_usd',
    'duration_ms',
    'id',
  ],
};

/** Operations behind `gatehouse usage` and `gatehouse costs`. */
const reports = /^(usage|costs)\.summary$/;

/** Adds a command for each operation, under the words of its id. */
export function addResourceCommands(
  program: Command,
  context: Context,
  operations: readonly Operation[],
): void {
  for (const operation of operations) {
    if (reports.test(operation.id)) continue;
    const { group, verb } = wordsOf(operation);
    // The name of a group with one thing to get, such as `limits`, gets it.
    const isDefault = verb === 'get' && operation.pathParameters.length === 0;
    groupCommand(program, group).addCommand(commandOf(operation, verb, context), { isDefault });
  }
}

/** Adds the commands of {@link shortForms} where the group has no other one of the name: call it after all others. */
export function addShortForms(program: Command, context: Context, operations: readonly Operation[]): void {
  for (const { group, operation } of shortForms(operations)) {
    const { verb } = wordsOf(operation);
    const parent = groupCommand(program, group.split('.'));
    if (parent.commands.some((command) => command.name() === verb)) continue;
    const long = [...wordsOf(operation).group, verb].join(' ');
    parent.addCommand(commandOf(operation, verb, context).summary(`short for: ${long}`));
  }
}

function wordsOf({ id }: Operation): { group: string[]; verb: string } {
  const group = id.split('.');
  const verb = group.pop() ?? '';
  return { group, verb: verbs[verb] ?? verb };
}

function groupCommand(program: Command, words: readonly string[]): Command {
  return words.reduce(subcommand, program);
}

/** A command whose flags may stand before an argument: by default, the next word is taken for the flag's value. */
class FlagCommand extends Command {
  override parseOptions(words: string[]): ReturnType<Command['parseOptions']> {
    const flags = new Set(this.options.filter(({ optional }) => optional).map(({ long }) => long));
    const hasValue = (at: number): boolean => ['true', 'false'].includes(words[at] ?? '');
    return super.parseOptions(
      words.map((word, at) => (flags.has(word) && !hasValue(at + 1) ? `${word}=true` : word)),
    );
  }
}

function commandOf(operation: Operation, name: string, context: Context): Command {
  const { summary, pathParameters, queryParameters, body, actingUser, answer, asCsv } = operation;
  const command = new FlagCommand(name).description(summary);
  for (const { name: parameter, description } of pathParameters)
    command.argument(`<${flag(parameter)}>`, description);
  for (const parameter of [...queryParameters, ...(body ?? [])]) command.addOption(optionOf(parameter));
  addSince(command, queryParameters);
  if (isPaged(operation)) command.option('--all', 'all pages');
  if (body !== undefined)
    command.option('-f, --file <file>', 'the body as YAML or JSON; - for standard input');
  if (asCsv) command.option('--csv', 'all pages as CSV');
  if (answer === 'text') command.option('--out <file>', toFile);
  if (asCsv) command.option('--out <file>', `with --csv; ${toFile}`);
  if (isDeletion(operation)) command.option('-y, --yes', 'delete without a question');
  if (actingUser) command.option('--as-user <id>', 'on behalf of that user');
  addShared(command);
  const example = exampleOf(operation, name);
  command.addHelpText('after', `\nExample${operation.asCsv ? 's' : ''}:\n  ${example}\n`);
  command.action(async (...inputs: unknown[]) => {
    const values = inputs.slice(0, pathParameters.length) as string[];
    await run({ operation, values, options: command.opts(), context });
  });
  return command;
}

/**
 * Applies options in front of the name of a command, as in `costs --profile other export`, unless the same option is
 * behind it. Throws for an option unknown to the command.
 */
export function takeOptionsBefore(command: Command): void {
  for (let above = command.parent; above !== null; above = above.parent) {
    for (const option of above.options) {
      const name = option.attributeName();
      if (above.getOptionValueSource(name) !== 'cli') continue;
      if (!command.options.some((option) => option.attributeName() === name))
        throw new UsageError(
          `${option.long ?? name} stands before "${command.name()}", which doesn't have it.`,
        );
      if (command.getOptionValueSource(name) !== 'cli')
        command.setOptionValueWithSource(name, above.getOptionValue(name), 'cli');
    }
  }
}

/**
 * The command of this name below another one, possibly made for an operation already. A group takes the shared options for
 * the commands below it.
 */
export function subcommand(parent: Command, name: string): Command {
  return parent.commands.find((command) => command.name() === name) ?? addShared(parent.command(name));
}

export function addShared(command: Command): Command {
  return command
    .option('--profile <name>', 'another profile than the active one')
    .addOption(
      new Option('-o, --output <format>', 'table for people; json and yaml for programs').choices(formats),
    )
    .option('--json', 'short for --output json');
}

const toFile = 'standard output by default, and for -';

interface Call {
  operation: Operation;
  /** Values of the parameters in the path. */
  values: readonly string[];
  options: Record<string, unknown> & SharedOptions;
  context: Context;
}

async function run({ operation, values, options, context }: Call): Promise<void> {
  const { stdin } = context.surroundings;
  const client = await context.client(options);
  await confirmDeletion({ operation, values, options, context });
  const isWhole = options['all'] === true || options['csv'] === true;
  const query = { ...(isWhole && { limit: '200' }), ...queryOf(operation.queryParameters, options) };
  const request = {
    method: operation.method,
    path: withQuery(pathOf(operation, values), query),
    user: options['asUser'] as string | undefined,
    idempotencyKey: operation.idempotencyKey ? randomUUID() : undefined,
    ...(operation.body !== undefined && { json: await bodyOf(operation.body, options, stdin) }),
  };
  const target = { out: options['out'] as string | undefined, surroundings: context.surroundings };
  if (operation.answer === 'text') return download(client, request, target);
  if (options['csv'] === true) {
    if (context.output(options).isData) throw new UsageError('--csv and --json exclude each other');
    return save(() => csvPages(client, request), target);
  }
  if (target.out !== undefined) throw new UsageError('--out goes with --csv');
  const output = context.output(options);
  const answer = options['all'] === true ? { data: await client.all(request) } : await client.json(request);
  output.answer(answer, columns[operation.id]);
  if (isDeletion(operation) && answer === undefined && !output.isData)
    output.line(`${isDryRun(options) ? 'Would delete' : 'Deleted'} ${subjectOf(operation, values)}.`);
}

/** Whether it removes data for good. */
function isDeletion({ id, method }: Operation): boolean {
  return method === 'DELETE' || id === 'memory.forget';
}

function isDryRun(options: Record<string, unknown>): boolean {
  return options['dryRun'] === 'true';
}

function subjectOf(operation: Operation, values: readonly string[]): string {
  return [...wordsOf(operation).group, ...values].join(' ');
}

async function confirmDeletion({ operation, values, options, context }: Call): Promise<void> {
  if (!isDeletion(operation) || options['yes'] === true || isDryRun(options)) return;
  const isConfirmed = await context.surroundings.confirm(`Delete ${subjectOf(operation, values)}?`);
  if (isConfirmed === null)
    throw new UsageError('Standard input is no terminal: confirm the deletion by --yes');
  if (!isConfirmed) throw new UsageError('Nothing was deleted');
}

/** Reads the body from a file, if there is one; options replace its members. */
async function bodyOf(
  members: readonly Parameter[],
  options: Record<string, unknown>,
  stdin: Context['surroundings']['stdin'],
): Promise<Record<string, unknown>> {
  const file = options['file'] as string | undefined;
  const fromFile = file === undefined ? {} : parseYaml(await readText(file, stdin), file);
  if (typeof fromFile !== 'object' || fromFile === null || Array.isArray(fromFile))
    throw new UsageError(`${file ?? ''} must hold the members of an object`);
  const body: Record<string, unknown> = { ...fromFile };
  for (const member of members) {
    const value = options[camel(member.name)];
    if (value !== undefined) body[member.name] = bodyValue(member, value);
  }
  const missing = members.filter(({ required, name }) => required && body[name] === undefined);
  if (missing.length > 0)
    throw new UsageError(`Missing: ${missing.map(({ name }) => `--${flag(name)}`).join(', ')}, or in --file`);
  return body;
}

function bodyValue({ name, type }: Parameter, value: unknown): unknown {
  if (type !== 'time' || typeof value !== 'string') return value;
  return timeOf(value, { option: flag(name), now: new Date(), direction: 'future', timezone: 'UTC' });
}

function pathOf({ path, pathParameters }: Operation, values: readonly string[]): string {
  let filled = path;
  for (const [at, { name }] of pathParameters.entries()) {
    const value = values[at] ?? '';
    if (value === '') throw new UsageError(`<${flag(name)}> is empty`);
    // Documents have paths of their own. Their segments stay segments.
    const segments = name === 'path' ? value.split('/') : [value];
    filled = filled.replace(`{${name}}`, () => segments.map(encodeURIComponent).join('/'));
  }
  return filled;
}

/** The query of an operation's options; `names` are those of options under another name. Throws for a wrong time. */
export function queryOf(
  parameters: readonly Parameter[],
  options: Record<string, unknown>,
  names: Record<string, string> = {},
): Record<string, string> {
  const query: Record<string, string> = {};
  const { timezone = 'UTC' } = options as { timezone?: string };
  for (const { name, type } of parameters) {
    const hasSince = name === 'from' && options['since'] !== undefined;
    // `--since` stands for `--from`.
    const option = hasSince ? 'since' : (names[name] ?? flag(name));
    const value = options[camel(option)] as string | number | boolean | string[] | undefined;
    if (value === undefined) continue;
    query[name] =
      type === 'time'
        ? timeOf(String(value), { option, now: new Date(), direction: 'past', timezone })
        : String(value);
  }
  return query;
}

/** Adds `--since` beside `--from`. */
export function addSince(command: Command, parameters: readonly Parameter[]): void {
  if (parameters.some(({ name }) => name === 'from'))
    command.addOption(new Option('--since <time>', 'short for --from, such as 7d').conflicts('from'));
}

/** Leaves out parameters without a value. */
export function withQuery(path: string, query: Record<string, string | undefined>): string {
  const entries = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const text = new URLSearchParams(entries).toString();
  return text === '' ? path : `${path}?${text}`;
}

/** The option of a parameter, with the contract's description and default, under another name if there is one. */
export function optionOf(parameter: Parameter, flagName = flag(parameter.name)): Option {
  const { name, type, values } = parameter;
  const byDefault = parameter.default === undefined ? '' : `default: ${parameter.default}`;
  const description = [parameter.description, parameter.members ?? '', byDefault]
    .filter((part) => part !== '')
    .join('; ');
  const placeholder = {
    string: 'text',
    time: 'time',
    number: 'number',
    boolean: 'true|false',
    strings: 'list',
    json: 'json',
  }[type];
  if (values?.join() === 'true,false')
    return new Option(`--${flagName} [true|false]`, description).choices(values);
  const option = new Option(`--${flagName} <${placeholder}>`, description);
  if (values !== undefined) option.choices(values);
  else option.argParser((text: string) => valueOf(name, type, text));
  return option;
}

function valueOf(name: string, type: Parameter['type'], text: string): unknown {
  if (text === 'null' && type !== 'string') return null;
  switch (type) {
    case 'string':
    case 'time':
      return text;
    case 'strings':
      if (/^\s*\[|\n/.test(text)) return parseTexts(name, text);
      return text.split(',').filter((part) => part !== '');
    case 'number': {
      const number = Number(text);
      if (text.trim() === '' || Number.isNaN(number)) throw new UsageError(`--${flag(name)} takes a number`);
      return number;
    }
    case 'boolean':
      if (text !== 'true' && text !== 'false') throw new UsageError(`--${flag(name)} takes true or false`);
      return text === 'true';
    case 'json':
      return parseYaml(text, `--${flag(name)}`);
  }
}

/** A list of texts as JSON or YAML. */
function parseTexts(name: string, text: string): string[] {
  const list = parseYaml(text, `--${flag(name)}`);
  if (Array.isArray(list) && list.every((item): item is string => typeof item === 'string')) return list;
  throw new UsageError(`--${flag(name)} takes a list of texts: a,b or [a, b]`);
}

function isPaged({ queryParameters }: Operation): boolean {
  return queryParameters.some(({ name }) => name === 'cursor');
}

function exampleOf({ id, pathParameters, body, answer, asCsv }: Operation, name: string): string {
  const words = id.split('.').slice(0, -1);
  const required = (body ?? []).filter((member) => member.required);
  const options = required.map((member) => `--${flag(member.name)} ${exampleValue(member)}`);
  const command = [
    'gatehouse',
    ...words,
    name,
    ...pathParameters.map((each) => flag(each.name).toUpperCase()),
    ...options,
    ...(answer === 'text' ? ['--out FILE'] : []),
  ].join(' ');
  return asCsv ? `${command}\n  ${command} --csv --out FILE` : command;
}

function exampleValue({ type, values, name, members = '{…}' }: Parameter): string {
  if (values !== undefined) return values[0] ?? '';
  return {
    string: `${flag(name)}…`,
    time: '90d',
    number: '1',
    boolean: 'true',
    strings: 'a,b',
    json: `'${members}'`,
  }[type];
}

/** `agentID` → `agent-id`, `group_by` → `group-by`. */
function flag(name: string): string {
  return name
    .replaceAll(/([a-z])([A-Z])/g, '$1-$2')
    .replaceAll('_', '-')
    .toLowerCase();
}

/** As commander names an option's value. */
function camel(name: string): string {
  return flag(name).replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}
