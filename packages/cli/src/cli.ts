import { Command, CommanderError } from 'commander';
import { ApiError, UnreachableError } from './api-client.ts';
import { addApply, DriftError } from './commands/apply.ts';
import { addChat } from './commands/chat.ts';
import { addCompletion } from './commands/completion.ts';
import { addExport } from './commands/export.ts';
import { addInit } from './commands/init.ts';
import { addLogin } from './commands/login.ts';
import { addMemory } from './commands/memory.ts';
import { addProfile } from './commands/profile.ts';
import { addReports } from './commands/reports.ts';
import { addTraces } from './commands/traces.ts';
import { addWebhooks } from './commands/webhooks.ts';
import { Context, type Surroundings } from './context.ts';
import { IncompleteExport } from './declarations/export.ts';
import { DeclarationError } from './declarations/problem.ts';
import type { Operation } from './operations.ts';
import { forTerminal, jsonForTerminal } from './output.ts';
import { addResourceCommands, addShared, addShortForms, takeOptionsBefore } from './resource-commands.ts';
import { UsageError } from './usage-error.ts';

export interface Cli extends Surroundings {
  /** The words after the program's name. */
  words: readonly string[];
  operations: readonly Operation[];
  writeError: (text: string) => void;
}

/** Exit code of an interrupted command, the shells' code for SIGINT. */
export const interrupted = 130;

/**
 * Runs a command, and returns its exit code: 0, 1 (the gateway refused or failed), 2 (usage), 3 (drift), or
 * {@link interrupted}.
 */
export async function runCli({ words, operations, writeError, ...surroundings }: Cli): Promise<number> {
  const isData = asksForData(words);
  try {
    await programOf(new Context(surroundings), operations, writeError).parseAsync(words, { from: 'user' });
    return 0;
  } catch (error) {
    if (surroundings.signal.aborted) return interrupted;
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (error instanceof DriftError) return 3;
    if (error instanceof UsageError || isSystemError(error)) {
      writeError(`${forTerminal(error.message)}\n`);
      return 2;
    }
    if (!isFailure(error)) throw error;
    writeError(isData ? `${jsonOf(error)}\n` : `${forTerminal(textOf(error))}\n`);
    return 1;
  }
}

/** The command with all others below it. */
export function programOf(
  context: Context,
  operations: readonly Operation[],
  writeError: (text: string) => void,
): Command {
  const program = addShared(new Command('gatehouse'))
    .description('The command line of a Gatehouse gateway.')
    .version(context.surroundings.version)
    .enablePositionalOptions()
    .hook('preAction', (_program, command) => takeOptionsBefore(command))
    .showHelpAfterError('(add --help for what there is)')
    .addHelpText(
      'after',
      '\nExamples:\n  gatehouse login --url https://gatehouse.example.com\n  gatehouse agents list\n  gatehouse chat -m agent:clerk "Where is the key?"\n  gatehouse apply -f gatehouse/\n',
    );
  addLogin(program, context);
  addProfile(program, context);
  addChat(program, context);
  addReports(program, context, operations);
  addResourceCommands(program, context, operations);
  addTraces(program, context);
  addMemory(program, context);
  addWebhooks(program, context);
  addApply(program, context, operations);
  addExport(program, context, operations);
  addInit(program, context);
  addCompletion(program, context);
  for (const command of withAll(program))
    if (command.description() === '')
      command.description(command.commands.map((part) => part.name()).join(', '));
  addShortForms(program, context, operations);
  for (const command of withAll(program))
    command.exitOverride().configureOutput({ writeOut: context.surroundings.write, writeErr: writeError });
  return program;
}

/** A command, and all below it. */
export function withAll(command: Command): Command[] {
  return [command, ...command.commands.flatMap(withAll)];
}

/** Whether errors are for a program too. Known before the options are read, since those may be the error. */
function asksForData(words: readonly string[]): boolean {
  return words.some(
    (word, at) =>
      word === '--json' ||
      /^(--output=|-o=?)(json|yaml)$/.test(word) ||
      (/^(json|yaml)$/.test(word) && /^(--output|-o)$/.test(words[at - 1] ?? '')),
  );
}

/** Whether the operating system has refused an operation, like reading a file. */
function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error && 'code' in error;
}

type Failure = ApiError | DeclarationError | IncompleteExport | UnreachableError;

const failures = [ApiError, DeclarationError, IncompleteExport, UnreachableError];

/** Whether the gateway has refused or failed. */
function isFailure(error: unknown): error is Failure {
  return failures.some((kind) => error instanceof kind);
}

function textOf(error: Failure): string {
  if (!(error instanceof ApiError)) return error.message;
  const request = error.requestId === undefined ? '' : ` (request ${error.requestId})`;
  return `${error.code}: ${error.message}${request}`;
}

function jsonOf(error: Failure): string {
  if (error instanceof DeclarationError) {
    const { outcome: message, problems } = error;
    return jsonForTerminal({ error: { code: 'declarations_refused', message, problems } });
  }
  if (!(error instanceof ApiError))
    return jsonForTerminal({
      error: {
        code: error instanceof IncompleteExport ? 'export_incomplete' : 'unreachable',
        message: error.message,
      },
    });
  const { code, message, status, requestId } = error;
  return jsonForTerminal({ error: { code, message, status, request_id: requestId } });
}
