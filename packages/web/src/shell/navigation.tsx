import { pagesFor, sections } from '../pages/pages.ts';
import { Icon } from '../parts/icon.tsx';
import { ThemeButton } from './theme-button.tsx';
import type { Person } from './session.tsx';

interface NavigationProps {
  person: Person;
  /** The path of the current page. */
  current: string;
}

/** The pages of a person by section, and the person with their session. */
export function Navigation({ person, current }: NavigationProps) {
  const pages = pagesFor(person);
  const isParent = (path: string): boolean => current === `${path}/:id`;
  return (
    <>
      <nav aria-label="Pages">
        {sections.map((section) => {
          const listed = pages.filter((page) => page.section === section);
          if (listed.length === 0) return null;
          return (
            <div key={section}>
              <h2>{section}</h2>
              <ul>
                {listed.map(({ path, title, icon }) => (
                  <li key={path}>
                    <a
                      href={path}
                      aria-current={path === current ? 'page' : isParent(path) ? 'true' : undefined}
                    >
                      <Icon name={icon} />
                      {title}
                    </a>
                  </li>
                ))}
              </ul>
            </div>
          );
        })}
      </nav>
      <Account person={person} />
    </>
  );
}

function Account({ person: { name, tenant, role } }: { person: Person }) {
  return (
    <div class="account">
      <p class="who">
        <strong>{name}</strong>
        <span>{`${tenant ?? 'platform'} · ${role}`}</span>
      </p>
      <ThemeButton />
      <form method="post" action="/logout">
        <button type="submit" class="quiet icon-only" aria-label="Log out" title="Log out">
          <Icon name="logout" />
        </button>
      </form>
    </div>
  );
}
