import { Link } from '@tanstack/react-router';
import { Empty } from './show.tsx';

export function NotFound() {
  return (
    <Empty title="There is no such page" action={<Link to="/">To the overview</Link>}>
      The address may have a typing error, or what it showed has been removed.
    </Empty>
  );
}
