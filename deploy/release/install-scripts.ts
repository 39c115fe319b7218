/** Commands of npm that run scripts of packages unless they are switched off, with the lines that continue them. */
const installs = /\bnpm (?:ci|install|i)\b(?:\\\n|[^\n&;|])*/g;

/** Commands of a build file, without its comments, that would run scripts of the packages that they install. */
export function scriptedInstalls(text: string): string[] {
  const commands = text.replace(/^\s*#.*$/gm, '');
  return (commands.match(installs) ?? [])
    .filter((command) => !command.includes('--ignore-scripts'))
    .map((command) => command.trim());
}
