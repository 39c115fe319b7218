import { Argument, type Command } from 'commander';
import type { Context } from '../context.ts';

/** `complete` asks this program itself, so the words are those of its version. */
const scripts = {
  bash: `_gatehouse() { mapfile -t COMPREPLY < <(gatehouse complete-words -- "\${COMP_WORDS[@]:1:COMP_CWORD}"); }
complete -o default -F _gatehouse gatehouse`,
  zsh: `#compdef gatehouse
_gatehouse() { local -a found; found=(\${(f)"$(gatehouse complete-words -- "\${(@)words[2,CURRENT]}")"}); compadd -a found; }
compdef _gatehouse gatehouse`,
  fish: `complete -c gatehouse -f -a '(gatehouse complete-words -- (commandline -opc)[2..] (commandline -ct))'`,
};

/** `completion`. */
export function addCompletion(program: Command, context: Context): void {
  program
    .command('completion')
    .description('print what a shell needs to complete words')
    .addArgument(new Argument('<shell>').choices(Object.keys(scripts)))
    .addHelpText('after', '\nExample:\n  source <(gatehouse completion bash)\n')
    .action((shell: keyof typeof scripts) => {
      context.surroundings.write(`${scripts[shell]}\n`);
    });
  program
    .command('complete-words', { hidden: true })
    .argument('[words...]')
    .action(async (words: string[]) => {
      for (const word of await completionsOf(program, context, words))
        context.surroundings.write(`${word}\n`);
    });
}

/** Commands, options and their values for the place of the last word. */
async function completionsOf(
  program: Command,
  context: Context,
  words: readonly string[],
): Promise<string[]> {
  const [started = '', previous = '', ...before] = words.toReversed();
  let command = program;
  for (const word of [previous, ...before].toReversed())
    command = command.commands.find((each) => namesOf(each).includes(word)) ?? command;
  const option = command.options.find(({ long, short }) => [long, short].includes(previous));
  const isProfile =
    option?.long === '--profile' || (command.parent?.name() === 'profile' && command.name() === 'use');
  const candidates = isProfile
    ? await profileNames(context)
    : started.startsWith('-')
      ? command.options.map(({ long }) => long ?? '')
      : (option?.argChoices ?? command.commands.flatMap(namesOf));
  return candidates.filter((word) => word !== '' && word.startsWith(started));
}

/** The name and the aliases of a command; empty for a hidden one. */
function namesOf(command: Command): string[] {
  return command.name() === 'complete-words' ? [] : [command.name(), ...command.aliases()];
}

/** A broken file is reported by the command itself. */
async function profileNames(context: Context): Promise<string[]> {
  const { profiles } = await context.profiles.list().catch(() => ({ profiles: [] }));
  return profiles.map(({ name }) => name);
}
