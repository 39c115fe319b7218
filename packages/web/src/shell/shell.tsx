import { useEffect, useRef } from 'preact/hooks';
import { findPage } from '../pages/pages.ts';
import { EmptyState } from '../parts/empty-state.tsx';
import { Frame } from './frame.tsx';
import { useView } from './location.tsx';
import { Navigation } from './navigation.tsx';
import { usePerson } from './session.tsx';
import { TitleContext } from './title.ts';

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
    <Frame navigation={<Navigation person={person} current={match?.page.path ?? ''} />}>
      <h1 ref={heading} tabIndex={-1}>
        {title}
      </h1>
      {match === null ? (
        <EmptyState title="This page doesn’t exist, or your session has no access to it.">
          <p>
            <a class="button" href="/app/">
              Go to the first page
            </a>
          </p>
        </EmptyState>
      ) : (
        <TitleContext.Provider value={title}>
          <match.page.component key={path} id={match.id} />
        </TitleContext.Provider>
      )}
    </Frame>
  );
}
