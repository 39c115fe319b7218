import { useEffect, useRef } from 'preact/hooks';
import { findPage, pagesFor, sections } from '../pages/pages.ts';
import { useView } from './location.tsx';
import { usePerson, type Person } from './session.tsx';

/** The navigation of a person, and the page of the view. */
export function Shell() {
  const person = usePerson();
  const { path } = useView();
  const match = findPage(path, person);
  const title = match?.page.title ?? 'No such page';
  const heading = useRef<HTMLHeadingElement>(null);
  const isFirst = useRef(true);
  useEffect(() => {
    document.title = `${title} · Gatehouse`;
    // The browser has put the focus of the first view; a change of views is announced by the new heading.
    if (!isFirst.current) heading.current?.focus();
    isFirst.current = false;
    scrollTo(0, 0);
  }, [path, title]);
  return (
    <>
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <header class="bar">
        <a class="brand" href="/app/">
          Gatehouse
        </a>
        <span class="who">
          {person.name} · {person.tenant ?? 'platform'} · {person.role}
        </span>
        <form method="post" action="/logout">
          <button type="submit">Log out</button>
        </form>
      </header>
      <div class="columns">
        <Navigation person={person} current={match?.page.path ?? ''} />
        <main id="content">
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {match === null ? (
            <p>
              Nothing is at <code>{path}</code>, or your session doesn’t reach it. Go to the{' '}
              <a href="/app/">first page</a>.
            </p>
          ) : (
            <match.page.component key={path} id={match.id} />
          )}
        </main>
      </div>
    </>
  );
}

function Navigation({ person, current }: { person: Person; current: string }) {
  const pages = pagesFor(person);
  return (
    <nav aria-label="Pages">
      {sections.map((section) => {
        const listed = pages.filter((page) => page.section === section);
        if (listed.length === 0) return null;
        return (
          <div key={section}>
            <h2>{section}</h2>
            <ul>
              {listed.map(({ path, title }) => (
                <li key={path}>
                  <a href={path} aria-current={path === current ? 'page' : undefined}>
                    {title}
                  </a>
                </li>
              ))}
            </ul>
          </div>
        );
      })}
    </nav>
  );
}
