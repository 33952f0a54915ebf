"""Generated trips: a city that does not exist, and riders on a real timetable."""
