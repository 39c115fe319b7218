/** The words of a parser about a text: the first line of its message, since further ones show the text and its secrets. */
export function parserProblem(error: unknown): string {
  const [words = ''] = (error as Error).message.split('\n', 1);
  return words.replace(/:$/, '');
}
