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
    .action((words: string[]) => {
      for (const word of completionsOf(program, words)) context.surroundings.write(`${word}\n`);
    });
}

/** Commands and options for the place of the last word. */
export function completionsOf(program: Command, words: readonly string[]): string[] {
  const [started = '', ...before] = words.toReversed();
  let command = program;
  for (const word of before.toReversed())
    command = command.commands.find((each) => each.name() === word) ?? command;
  const isHidden = (each: Command): boolean => each.name() === 'complete-words';
  const candidates = started.startsWith('-')
    ? command.options.map(({ long }) => long ?? '')
    : command.commands.filter((each) => !isHidden(each)).map((each) => each.name());
  return candidates.filter((word) => word !== '' && word.startsWith(started));
}
