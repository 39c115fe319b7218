import { createContext } from 'preact';

/** The heading above: a table with the same caption does not show it again. */
export const TitleContext = createContext('');
