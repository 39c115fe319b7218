/** Paths that `make lint` reads for habits of prose, from the repository's root. */
export const checkedPaths: readonly string[] = ['.'];
