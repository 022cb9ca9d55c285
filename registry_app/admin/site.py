"""The only module that imports the admin theme, so that it can be replaced."""

from typing import TYPE_CHECKING, Generic, TypeVar

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import User
from django.db import models
from unfold.admin import ModelAdmin as _UnfoldModelAdmin
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm
from unfold.widgets import CHECKBOX_CLASSES, INPUT_CLASSES, SELECT_CLASSES, TEXTAREA_CLASSES

Row = TypeVar("Row", bound=models.Model)

INPUT_CSS = " ".join(INPUT_CLASSES)
TEXTAREA_CSS = " ".join(TEXTAREA_CLASSES)
SELECT_CSS = " ".join(SELECT_CLASSES)
CHECKBOX_CSS = " ".join(CHECKBOX_CLASSES)

if TYPE_CHECKING:

    class ThemedAdmin(admin.ModelAdmin[Row]):
        """A ModelAdmin that looks like the rest."""

    class ThemedUserAdmin(UserAdmin[User]):
        pass

    class ThemedGroupAdmin(GroupAdmin):
        pass

else:

    class ThemedAdmin(_UnfoldModelAdmin, Generic[Row]):
        """A ModelAdmin that looks like the rest."""

    class ThemedUserAdmin(UserAdmin, _UnfoldModelAdmin):
        form = UserChangeForm
        add_form = UserCreationForm
        change_password_form = AdminPasswordChangeForm

    class ThemedGroupAdmin(GroupAdmin, _UnfoldModelAdmin):
        pass
