// Version 4 of the schema: a record that is claimed again with other marks ends those that it no longer has,
// as core/marks.cpp has it. A trigger, so that every function and program that takes a record over does it.
#include "stores/postgres/migrations.hpp"

namespace onceward::postgres {

const char* const migration_4_marks = R"sql(
CREATE FUNCTION onceward.leave_marks() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT new.earlier_too THEN
    DELETE FROM onceward.marks m WHERE m.mark IN (old.unique_mark, old.suspect_mark)
      AND m.mark IS DISTINCT FROM new.unique_mark AND m.mark IS DISTINCT FROM new.suspect_mark
      AND m.scope = old.scope AND m.operation_id = old.operation_id;
  ELSIF old.unique_mark IS DISTINCT FROM new.unique_mark THEN
    -- An epoch before may have made it true.
    UPDATE onceward.marks m SET until = new.claimed_at + old.unique_keep
    WHERE m.mark = old.unique_mark AND m.scope = old.scope AND m.operation_id = old.operation_id;
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER leave_marks AFTER UPDATE OF unique_mark, suspect_mark ON onceward.records FOR EACH ROW
WHEN (old.operation_id = new.operation_id AND old.epoch < new.epoch AND (
  old.unique_mark IS NOT NULL AND old.unique_mark IS DISTINCT FROM new.unique_mark OR
  old.suspect_mark IS NOT NULL AND old.suspect_mark IS DISTINCT FROM new.suspect_mark))
EXECUTE FUNCTION onceward.leave_marks();
)sql";

}  // namespace onceward::postgres
