import { createContext, type ComponentChildren } from 'preact';
import { useContext } from 'preact/hooks';
import type { CurrentSession } from '@gatehouse/contract/sessions';

/** The person at the browser, and the time zone of their tenant. */
export interface Person extends CurrentSession {
  timezone: string;
}

const PersonContext = createContext<Person | null>(null);

export function PersonProvider({ person, children }: { person: Person; children: ComponentChildren }) {
  return <PersonContext.Provider value={person}>{children}</PersonContext.Provider>;
}

export function usePerson(): Person {
  const person = useContext(PersonContext);
  if (person === null) throw new Error('usePerson is called outside of PersonProvider');
  return person;
}
